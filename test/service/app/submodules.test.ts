import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { appOfSuite, conversation, startedTask } from './support.ts';

const app = appOfSuite();
const at = (...names: string[]): string => path.join(app.dir, ...names);

function git(folder: string, ...argv: string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env.PATH, HOME: app.dir, GIT_ALLOW_PROTOCOL: 'file' };
  const options = { env, encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('git', ['-C', folder, ...who, ...argv], options).trim();
}

function makeRepository(name: string): string {
  mkdirSync(at(name));
  git(at(name), 'init', '-q');
  writeFileSync(at(name, `${name}.txt`), name);
  git(at(name), 'add', '.');
  git(at(name), 'commit', '-qm', 'first');
  return at(name);
}

/** The workspace of a conversation that is started on a checkout, and the report of its start. */
async function started(checkout: string) {
  const task = await startedTask(app, { replay_json: 'demo', selected_repository: checkout });
  expect(task.status).toBe('READY');
  const { tags } = (await conversation(app, task.app_conversation_id ?? '')) ?? {};
  return { clone: tags?.archiveworkspacepath ?? '', detail: task.detail };
}

describe('the submodules of a checkout', () => {
  it('are checked out from its own disk, also those of submodules; the others are named', async () => {
    for (const name of ['inner', 'middle', 'outer']) makeRepository(name);
    git(at('middle'), 'submodule', '--quiet', 'add', at('inner'), 'libs/inner');
    git(at('middle'), 'commit', '-qm', 'second');
    git(
      at('outer'),
      'submodule',
      '--quiet',
      'add',
      '--name',
      'a/name',
      at('middle'),
      'libs/middle',
    );
    git(at('outer'), 'submodule', '--quiet', 'update', '--init', '--recursive');
    git(at('outer'), 'commit', '-qm', 'second');
    git(app.dir, 'clone', '-q', at('outer'), at('without'));
    // Nothing is left at the URLs.
    for (const name of ['inner', 'middle']) renameSync(at(name), at(`${name}-moved`));
    const { clone, detail } = await started(at('outer'));
    expect(detail).toBe(null);
    const inner = path.join(clone, 'libs/middle/libs/inner');
    expect(readFileSync(path.join(clone, 'libs/middle/middle.txt'), 'utf8')).toBe('middle');
    expect(readFileSync(path.join(inner, 'inner.txt'), 'utf8')).toBe('inner');
    expect(git(clone, 'status', '--short', '--untracked-files=no')).toBe('');
    expect(execFileSync('find', [clone, '-type', 'f', '-links', '+1'], { encoding: 'utf8' })).toBe(
      '',
    );
    const empty = await started(at('without'));
    expect(existsSync(path.join(empty.clone, 'libs/middle/middle.txt'))).toBe(false);
    expect(empty.detail).toBe(
      'dependencies left out: libs/middle (a submodule that is not on this disk)',
    );
  });

  it('run no command and lead nowhere, whatever .gitmodules says', async () => {
    const checkout = makeRepository('hostile');
    const secret = makeRepository('secret');
    const commit = git(secret, 'rev-parse', 'HEAD');
    const mark = at('executed');
    const own = at('hostile/.git/modules/own');
    git(app.dir, 'clone', '-q', '--bare', secret, own);
    const forms = {
      ext: `url = ext::sh -c touch%20${mark}`,
      option: `url = --upload-pack=touch ${mark}`,
      file: `url = ${secret}`,
      own: `url = ext::sh -c touch%20${mark}\n\tupdate = !touch ${mark}`,
      '../../../secret': `url = ${secret}`,
    };
    const sections = Object.entries(forms).map(
      ([name, form]) => `[submodule "${name}"]\n\tpath = libs/${path.basename(name)}\n\t${form}\n`,
    );
    writeFileSync(path.join(checkout, '.gitmodules'), sections.join(''));
    git(checkout, 'add', '.');
    const names = Object.keys(forms).map((name) => `libs/${path.basename(name)}`);
    for (const name of names)
      git(checkout, 'update-index', '--add', '--cacheinfo', `160000,${commit},${name}`);
    git(checkout, 'commit', '-qm', 'second');
    const { clone, detail } = await started(checkout);
    for (const name of names) {
      expect(detail).toContain(`${name} (a submodule that is not on this disk)`);
      expect(existsSync(path.join(clone, name, 'secret.txt'))).toBe(false);
    }
    expect(existsSync(mark)).toBe(false);
  });
});
