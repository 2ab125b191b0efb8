import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { beforeEach, describe, expect, it } from 'vitest';
import { ProfileStore } from '../../../src/local/profiles/store.ts';
import { folderOfEachTest, mode, profile, useConfigDirs } from '../../support/temporary-folder.ts';
import { until } from '../../support/test-clock.ts';
import { invoke, PACKAGE_ROOT, type Ended } from '../../support/world.ts';
import { shell, start, type Start } from '../../e2e/processes.ts';

const dirs = useConfigDirs();

describe('the profile store', () => {
  it('restricts its own directory to its owner, and does not change a directory that others use', async () => {
    mkdirSync(dirs.configDir, { recursive: true });
    chmodSync(dirs.configDir, 0o755);
    await new ProfileStore(dirs.configDir, null).put(profile('work'));
    expect(mode(dirs.configDir)).toBe('700');

    const shared = path.join(dirs.base, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    writeFileSync(path.join(shared, 'other'), '');
    await new ProfileStore(shared, null).put(profile('work'));
    expect([mode(shared), mode(path.join(shared, 'profiles.json'))]).toEqual(['755', '600']);
  });

  it('writes through a link instead of replacing it', async () => {
    const target = path.join(dirs.base, 'dotfiles.json');
    writeFileSync(target, '{"profiles":{}}', { mode: 0o644 });
    mkdirSync(dirs.configDir, { recursive: true, mode: 0o700 });
    symlinkSync(target, dirs.file);
    await new ProfileStore(dirs.configDir, null).put(profile('work'));
    expect(lstatSync(dirs.file).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toMatchObject({ default: 'work' });
    expect(mode(target)).toBe('600');
  });

  it('renames with the default, removes without choosing another, and keeps what a newer acs wrote', async () => {
    dirs.corrupt(
      JSON.stringify({
        default: 'work',
        profiles: { work: profile('work'), other: profile('other') },
        later: { a: 1 },
      }),
    );
    const store = new ProfileStore(dirs.configDir, null);
    await store.rename('work', 'office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([
      ['office', 'other'],
      'office',
    ]);
    await store.remove('office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([
      ['other'],
      null,
    ]);
    await store.setDefault('local');
    expect(JSON.parse(readFileSync(dirs.file, 'utf8'))).toMatchObject({
      default: 'local',
      later: { a: 1 },
    });
  });

  it('is empty when its directory cannot exist, and throws config on a write', async () => {
    writeFileSync(path.join(dirs.base, 'no-folder'), '');
    const store = new ProfileStore(path.join(dirs.base, 'no-folder', 'acs'), null);
    expect(await store.list()).toEqual([]);
    await expect(store.put(profile('work'))).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('a part of its path is a file, not a folder') as string,
    });
  });

  it.each([
    ['{"profiles": {"work": {"key": "s3cret"', 'it is not valid JSON'],
    ['', 'it is empty'],
    ['[]', 'it is not a JSON object'],
    ['{"profiles": []}', '"profiles" is not an object'],
    ['{"profiles": {"work": {}}}', 'profile "work": "base_url" is not a URL'],
    [
      '{"profiles": {"local": {"base_url": "https://a.example"}}}',
      'profile "local": its name is not allowed',
    ],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "key": 7}}}',
      'profile "work": "key" is not a string',
    ],
    ['"text"', 'it is not a JSON object'],
    ['null', 'it is not a JSON object'],
    ['{"default": 7, "profiles": {}}', '"default" is not a string'],
    ['{"profiles": {"work": []}}', 'profile "work": it is not an object'],
    ['{"profiles": {"work": null}}', 'profile "work": it is not an object'],
    ['{"profiles": {"work": {"base_url": 7}}}', 'profile "work": "base_url" is not a URL'],
    ['{"profiles": {"work": {"base_url": "work"}}}', 'profile "work": "base_url" is not a URL'],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "key_command": 7}}}',
      'profile "work": "key_command" is not a string',
    ],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "created_at": 7}}}',
      'profile "work": "created_at" is not a string',
    ],
    ['{"default": "gone", "profiles": {}}', '"default" names a profile that does not exist'],
  ])('is not changed when it is corrupt: %s', async (text, why) => {
    dirs.corrupt(text);
    const store = new ProfileStore(dirs.configDir, null);
    const hint = 'repair the file, or move it away and sign in again; acs has not changed it';
    const refused = {
      kind: 'config',
      details: { hint },
      message: `the profile store ${dirs.file} cannot be used: ${why}`,
    };
    await expect(store.list()).rejects.toMatchObject(refused);
    await expect(store.put(profile('work'))).rejects.toMatchObject(refused);
    expect(readFileSync(dirs.file, 'utf8')).toBe(text);
    expect(readdirSync(dirs.configDir)).toEqual(['profiles.json']);
  });

  it('refuses names that are taken, unknown or not allowed, and replaces a profile', async () => {
    const store = new ProfileStore(dirs.configDir, null);
    await store.put(profile('work'));
    await store.put(profile('other'));
    await expect(store.rename('other', 'local')).rejects.toMatchObject({ kind: 'usage' });
    await expect(store.remove('constructor')).rejects.toMatchObject({ kind: 'not-found' });
    for (const name of ['local', '', '-x', 'a,b', '__proto__', 'a b', 'x'.repeat(65)]) {
      expect(() => store.draft(name, 'https://a.example'), name).toThrowError(
        expect.objectContaining({ kind: 'usage' }) as Error,
      );
    }
    await store.put(profile('work', { key: 'new' }));
    expect((await store.get('work'))?.key).toBe('new');
  });

  it('takes the lock of a process that has ended', async () => {
    mkdirSync(dirs.configDir, { recursive: true });
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(
      path.join(dirs.configDir, 'profiles.json.lock'),
      JSON.stringify({ pid, start: null }),
    );
    await new ProfileStore(dirs.configDir, null).put(profile('work'));
    expect(readdirSync(dirs.configDir)).toEqual(['profiles.json']);
  });

  it('stores all profiles when several processes change it at once', async () => {
    const script = path.join(dirs.base, 'add.cjs');
    await build({
      stdin: {
        contents: `import { ProfileStore } from './src/local/profiles/store.ts';
          const [configDir, name] = process.argv.slice(2);
          new ProfileStore(configDir, null).put({ name, base_url: 'https://a.example', created_at: 'now' })
            .catch((error) => { console.error(error); process.exitCode = 1; });`,
        resolveDir: path.resolve(import.meta.dirname, '..', '..', '..'),
        loader: 'ts',
      },
      outfile: script,
      bundle: true,
      format: 'cjs',
      platform: 'node',
    });
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    await Promise.all(
      names.map((name) => promisify(execFile)(process.execPath, [script, dirs.configDir, name])),
    );
    const stored = (await new ProfileStore(dirs.configDir, null).list()).map(({ name }) => name);
    expect(stored.sort()).toEqual(names);
  });
});

describe('a profile store that others may read', () => {
  const folder = folderOfEachTest();
  let file: string;
  const acs = (...args: string[]): Promise<Ended> => {
    const env = { HOME: folder.path, ACS_CONFIG_DIR: folder.path, PATH: process.env.PATH };
    return invoke({ args, cwd: folder.path, env });
  };
  beforeEach(async () => {
    file = path.join(folder.path, 'profiles.json');
    await acs(
      'login',
      'work',
      '--base-url',
      'http://127.0.0.1:9',
      '--no-check',
      '--key-command',
      'echo key-1',
    );
  });

  it.each([0o644, 0o640, 0o606, 0o666])(
    'a profile store of mode %o is set to 0600 with one notice',
    async (open) => {
      await chmod(file, open);
      const first = await acs('profile', 'list', '--json');
      expect(first.code, first.err).toBe(0);
      expect(
        first.err
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      ).toEqual([
        {
          notice: expect.stringContaining(
            `(mode ${open.toString(8)}); its mode is now 0600`,
          ) as string,
        },
      ]);
      expect(mode(file)).toBe('600');
      expect((await acs('profile', 'list')).err).toBe('');
    },
  );

  it('a profile store of mode 600 or 400 is left as it is, without a notice', async () => {
    for (const closed of [0o600, 0o400]) {
      await chmod(file, closed);
      expect((await acs('profile', 'list')).err).toBe('');
      expect(mode(file)).toBe(closed.toString(8));
    }
  });

  it('a command that reads a key from an open profile store closes it', async () => {
    await chmod(file, 0o644);
    const { code, err } = await acs('conv', 'list', '-p', 'work');
    expect({ code, err }).toEqual({
      code: 10,
      err: expect.stringContaining('its mode is now 0600') as string,
    });
    expect(mode(file)).toBe('600');
  });
});

describe('a process that writes the profile store', () => {
  const at = (): Start => ({
    cwd: dirs.base,
    env: {
      ACS_CONFIG_DIR: dirs.configDir,
      HOME: dirs.base,
      PATH: process.env.PATH,
      NODE_OPTIONS: `--require ${path.join(PACKAGE_ROOT, 'test/fixtures/stay-open.cjs')}`,
    },
  });

  it('gets each SIGINT once, so that the first one does not end it', async () => {
    await new ProfileStore(dirs.configDir, null).put(profile('work'));
    const acs = start(['profile', 'use', 'local', '--json'], at());
    await until(() => acs.out().endsWith('\n'));
    acs.child.kill('SIGINT');
    expect((await acs.ended).code, acs.err()).toBe(0);
  });

  it('leaves the store as it is when the disk is full', async () => {
    await new ProfileStore(dirs.configDir, null).put(profile('work', { key: 'x'.repeat(2_000) }));
    const before = readFileSync(dirs.file, 'utf8');
    const { NODE_OPTIONS: _, ...env } = at().env;
    // A file of this process may have 1,024 bytes: Node ends where it would write more.
    const limited = shell('ulimit -f 1; acs profile use local', { ...at(), env });
    expect((await limited.ended).code).not.toBe(0);
    expect(readFileSync(dirs.file, 'utf8')).toBe(before);
  });
});
