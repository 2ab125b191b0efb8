import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  copyDependencies,
  excludeFolders,
  listing,
  reportOf,
  type CopyRequest,
} from '../../../src/service/app/dependencies.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const at = (...names: string[]): string => path.join(folder.path, ...names);
const inClone = (...names: string[]): string => at('clone', ...names);

function git(cwd: string, ...argv: string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env.PATH, HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', [...who, ...argv], { cwd, env, encoding: 'utf8' }).trim();
}

function write(file: string, text = ''): void {
  mkdirSync(path.dirname(at(file)), { recursive: true });
  writeFileSync(at(file), text);
}

/** A checkout with these files, of which the clone has those that git does not ignore. */
function makeCheckout(files: string[], ignored: string): void {
  for (const file of files) write(`checkout/${file}`, file);
  write('checkout/.gitignore', ignored);
  git(at('checkout'), 'init', '-q');
  git(at('checkout'), 'add', '.');
  git(at('checkout'), 'commit', '-qm', 'first');
  git(folder.path, 'clone', '-q', 'checkout', 'clone');
}

function copy(more: Partial<CopyRequest> = {}) {
  const [file = '', ...args] = listing(['git', '-C', at('checkout')]);
  return copyDependencies({
    folders: execFileSync(file, args, { encoding: 'utf8' }),
    from: at('checkout'),
    to: realpathSync(inClone()),
    which: 'all',
    signal: new AbortController().signal,
    ...more,
  });
}

describe('the dependencies of a checkout', () => {
  it('are the folders of packages that git ignores, once each, where the commit has their parent', async () => {
    makeCheckout(
      [
        'index.js',
        'node_modules/one/node_modules/two/x.js',
        'packages/a/a.js',
        'packages/a/node_modules/three/x.js',
        'vendor/tracked.go',
        'php/vendor/autoload.php',
        'php/index.php',
        'target/debug/deps/x.rlib',
        'ö [1] \\/node_modules/four/x.js',
        'ö [1] \\/index.js',
        'other/large.bin',
      ],
      'node_modules\n/target\n/php/vendor/\nother\n.DS_Store\n',
    );
    write('checkout/.venv/.gitignore', '*\n');
    write('checkout/.venv/lib/site-packages/vendor/x.py');
    write('checkout/packages/new/node_modules/five/x.js');
    const { folders, leftOut } = await copy();
    const copied = [
      '.venv',
      'node_modules',
      'packages/a/node_modules',
      'php/vendor',
      'target',
      'ö [1] \\/node_modules',
    ];
    expect(folders).toEqual(copied);
    expect(leftOut).toEqual(['packages/new/node_modules (the commit lacks its folder)']);
    const names = (file: string) => readdirSync(file, { recursive: true }).sort();
    for (const name of copied) expect(names(inClone(name))).toEqual(names(at('checkout', name)));
    const file = 'node_modules/one/node_modules/two/x.js';
    expect(readFileSync(inClone(file), 'utf8')).toBe(file);
    expect(existsSync(inClone('other'))).toBe(false);
    expect(reportOf({ folders, entries: 1234, bytes: 1, leftOut })).toBe(
      'dependencies copied: .venv, node_modules, packages/a/node_modules, php/vendor, target and ' +
        '1 more (1,234 entries, 1 MiB); left out: packages/new/node_modules (the commit lacks its ' +
        'folder)',
    );
    // Also where the repository itself does not ignore them.
    excludeFolders(inClone('.git'), folders);
    writeFileSync(inClone('.gitignore'), '');
    expect(git(inClone(), 'status', '--short')).toBe('M .gitignore');
  });

  it('share no file with the checkout, and keep times, modes and links', async () => {
    makeCheckout(['index.js'], 'node_modules');
    write('.ssh/id', 'a secret');
    write('store/x.js', 'of the store');
    write('checkout/node_modules/bin.js', '#!');
    chmodSync(at('checkout/node_modules/bin.js'), 0o755);
    utimesSync(at('checkout/node_modules/bin.js'), 1_000_000, 1_000_000);
    linkSync(at('store/x.js'), at('checkout/node_modules/x.js'));
    symlinkSync(at('.ssh'), at('checkout/node_modules/keys'));
    symlinkSync('../index.js', at('checkout/node_modules/own'));
    const { entries, bytes, leftOut } = await copy();
    expect({ entries, bytes, leftOut }).toEqual({
      entries: 4,
      bytes: expect.any(Number),
      leftOut: [],
    });
    writeFileSync(inClone('node_modules/x.js'), 'of the agent');
    expect(readFileSync(at('store/x.js'), 'utf8')).toBe('of the store');
    const { mode, mtimeMs } = statSync(inClone('node_modules/bin.js'));
    expect([mode & 0o777, mtimeMs]).toEqual([0o755, 1_000_000_000]);
    expect(readlinkSync(inClone('node_modules/keys'))).toBe(at('.ssh'));
    expect(readlinkSync(inClone('node_modules/own'))).toBe('../index.js');
  });

  it('are left out by name where they are links, too large, or no files, and the others are copied', async () => {
    makeCheckout(['web/index.js', 'target/large', 'node_modules/x.js'], 'node_modules\ntarget\n');
    truncateSync(at('checkout/target/large'), 3 * 1024 ** 3);
    write('shared/y.js');
    symlinkSync(at('shared'), at('checkout/web/node_modules'));
    execFileSync('mkfifo', [at('checkout/node_modules/pipe')]);
    writeFileSync(Buffer.from(`${at('checkout/node_modules')}/\xff`, 'latin1'), 'not UTF-8');
    const unreadable = at('checkout/node_modules/unreadable');
    writeFileSync(unreadable, '', { mode: 0 });
    const { folders, leftOut } = await copy();
    // Root reads every file.
    const isRoot = process.getuid?.() === 0;
    expect(folders).toEqual(['node_modules']);
    expect(leftOut.sort()).toEqual([
      'node_modules/pipe (no regular file)',
      ...(isRoot ? [] : ['node_modules/unreadable (EACCES)']),
      'node_modules/\ufffd (no regular file)',
      'target (more than 2 GiB or 200,000 entries with the others)',
      'web/node_modules (not a folder, or a link)',
    ]);
    expect(existsSync(inClone('target'))).toBe(false);
    expect(existsSync(inClone('web/node_modules'))).toBe(false);
  });

  it('are not written through a link that the commit has, nor over its files', async () => {
    makeCheckout(['a/index.js', 'a/node_modules/x.js', 'b/node_modules/x.js'], 'node_modules');
    mkdirSync(at('outside'));
    execFileSync('rm', ['-r', inClone('a')]);
    symlinkSync(at('outside'), inClone('a'));
    mkdirSync(inClone('b'));
    writeFileSync(inClone('b/node_modules'), 'of the commit');
    expect(await copy()).toMatchObject({
      folders: [],
      leftOut: [
        'a/node_modules (the commit lacks its folder)',
        'b/node_modules (the commit has it)',
      ],
    });
    expect(existsSync(at('outside/node_modules'))).toBe(false);
    expect(lstatSync(inClone('b/node_modules')).size).toBe('of the commit'.length);
  });

  it('are without a virtual environment where its programs would find the checkout', async () => {
    makeCheckout(['venv/pyvenv.cfg', 'node_modules/x.js'], 'venv\nnode_modules\n');
    expect(await copy({ which: 'movable' })).toMatchObject({
      folders: ['node_modules'],
      leftOut: ['venv (its programs name the path of the checkout)'],
    });
  });

  it('are not copied on when the service is stopped', async () => {
    makeCheckout(['node_modules/x.js'], 'node_modules');
    const signal = AbortSignal.abort(new Error('the service was stopped'));
    await expect(copy({ signal })).rejects.toThrow('the service was stopped');
  });
});
