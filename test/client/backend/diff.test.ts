/** The changes of a conversation of a backend, by real git on its at.machine. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git, MATRIX_BASE, MATRIX_CHANGES } from '../../support/patch-matrix.ts';
import {
  BACKEND_DASHED_ID,
  BACKEND_ID as ID,
  backendMachine,
  BRANCH,
  useBackendWorktree,
} from '../support/backend-server.ts';

const at = useBackendWorktree();
const IDENTITY = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};

describe('conv diff of a backend', () => {
  it('is read in two requests, and has what is committed, staged, new and tracked though ignored', async () => {
    mkdirSync(path.join(at.worktree, 'dist'));
    mkdirSync(path.join(at.worktree, 'build'));
    at.write('dist/out', 'built\n');
    git(at.worktree, 'add', '-f', 'dist/out');
    at.commit(at.worktree, 'build');
    at.write('build/out', 'built\n');
    at.write('dist/ignored', 'left out\n');
    at.write('a.txt', 'one\ntwo\n');
    const expected = { items: [{ path: 'a.txt' }, { path: 'build/out' }, { path: 'dist/out' }] };
    await at.acs('whoami');
    at.server.asked.length = 0;
    await at.ends(`conv diff ${ID} --json`, { out: expected, err: '', requests: 2 });
  });

  it('is a patch that git applies, with modes, renames, links, binary content and odd names', async () => {
    at.shell(at.worktree, MATRIX_BASE);
    at.commit(at.worktree, 'matrix');
    at.runsIn(at.worktree, {
      acsbase: git(at.worktree, 'rev-parse', 'HEAD'),
      acscheckout: at.checkout,
    });
    const copy = path.join(at.machine.home, 'copy');
    git(at.dir, 'clone', '-q', '-b', BRANCH, at.checkout, copy);
    at.shell(at.worktree, MATRIX_CHANGES);
    const { bytes } = await at.ends(`conv diff ${ID}`, {});
    writeFileSync(path.join(at.dir, 'patch'), bytes);
    git(copy, 'apply', '--index', path.join(at.dir, 'patch'));
    git(at.worktree, 'add', '-A');
    expect(git(copy, 'write-tree')).toBe(git(at.worktree, 'write-tree'));
  });

  it('is that of the whole worktree when the conversation is in a subfolder', async () => {
    mkdirSync(path.join(at.worktree, 'packages/web'), { recursive: true });
    at.write('packages/web/new', 'new\n');
    at.write('outside', 'new\n');
    at.runsIn(path.join(at.worktree, 'packages/web'), { acsbase: at.base });
    await at.ends(`conv diff ${ID} --name-only`, { out: 'outside\npackages/web/new\n' });
  });

  it('omits nested repositories by name, also one without a commit', async () => {
    for (const name of ['empty', 'nested']) git(at.dir, 'init', '-q', path.join(at.worktree, name));
    git(path.join(at.worktree, 'nested'), 'commit', '-q', '--allow-empty', '-m', 'first');
    at.write('a.txt', 'two\n');
    await at.ends(`conv diff ${ID} --name-only`, {
      out: 'a.txt\n',
      err: [
        'nested: a nested git repository, whose files are not compared',
        "could not read a path: 'empty/' does not have a commit",
      ],
    });
  });

  it('has each file as a new one where the folder is no repository', async () => {
    const folder = path.join(at.machine.home, 'plain');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'file'), 'text\n');
    at.runsIn(folder);
    await at.ends(`conv diff ${ID} --stat --json`, { out: { items: [{ status: 'added' }] } });
  });

  it('is that of its folder alone where the repository around it has no file of it', async () => {
    const folder = path.join(at.worktree, 'plain');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'file'), 'text\n');
    at.write('beside', 'text\n');
    at.runsIn(folder);
    await at.ends(`conv diff ${ID} --name-only`, { out: 'file\n' });
  });

  it('prints a notice where nothing changed', async () => {
    await at.ends(`conv diff ${ID}`, { out: '', err: 'nothing changed in the workspace' });
  });

  it('is complete where it is longer than one answer', async () => {
    const text = Array.from({ length: 200_000 }, (_, line) => `line ${line}\n`).join('');
    at.write('a.txt', text);
    const { out } = await at.ends(`conv diff ${ID}`, {});
    expect(out.endsWith('+line 199999\n')).toBe(true);
  });

  it('is read by the routes of the conversation where it runs in a container', async () => {
    at.machine = backendMachine(at.machine.home, `/conversations/${BACKEND_DASHED_ID}`);
    at.runsIn(at.worktree, { acsbase: at.base });
    at.write('a.txt', 'two\n');
    const info = { title: 'OpenHands Agent Server', version: '1.58.2' };
    at.script({ '/server_info': { json: { ...info, conversation_runtime: 'docker' } } });
    const env = { ACS_CONFIG_DIR: path.join(at.dir, 'containers') };
    await at.ends(`conv diff ${ID} --name-only`, { out: 'a.txt\n', env });
  });
});

describe('conv diff without a base in the tags', () => {
  const startedAt = (seconds: number) =>
    Object.assign(at.machine.record ?? {}, {
      created_at: new Date(seconds * 1000).toISOString(),
    });
  /** The commits of the user are from before the start, those of the agent from after it. */
  const commitAt = (seconds: number, name: string) => {
    writeFileSync(path.join(at.checkout, name), `${name}\n`);
    git(at.checkout, 'add', '.');
    const date = `GIT_COMMITTER_DATE='${seconds} +0000'`;
    at.shell(at.checkout, `${date} git -c user.name=t -c user.email=t@t commit -q -m ${name}`);
  };
  const now = Math.floor(Date.now() / 1000);

  beforeEach(() => at.runsIn(at.checkout));

  it('compares with the commit that HEAD was at when the conversation started', async () => {
    commitAt(now + 1_000, 'of-user');
    commitAt(now + 3_000, 'of-agent');
    startedAt(now + 2_000);
    await at.ends(`conv diff ${ID} --name-only`, { out: 'of-agent\n' });
  });

  it('compares with the fork of the branch where git has kept no history of HEAD', async () => {
    git(at.checkout, 'checkout', '-q', '-b', 'feature');
    commitAt(now, 'of-agent');
    rmSync(path.join(at.checkout, '.git/logs'), { recursive: true });
    await at.ends(`conv diff ${ID} --name-only`, { out: 'of-agent\n' });
  });

  it('compares with HEAD and says so where neither is known', async () => {
    commitAt(now, 'committed');
    rmSync(path.join(at.checkout, '.git/logs'), { recursive: true });
    writeFileSync(path.join(at.checkout, 'new'), '');
    await at.ends(`conv diff ${ID} --name-only`, {
      out: 'new\n',
      err: 'left out: commits of the run: the commit that it started from is not known',
    });
  });
});

describe('conv diff where the worktree is gone', () => {
  beforeEach(() => {
    at.write('kept', 'committed\n');
    at.commit(at.worktree, 'kept');
    at.write('lost', 'not committed\n');
  });
  const shows = async (branch: string) =>
    await at.ends(`conv diff ${ID} --name-only`, {
      out: 'kept\n',
      err: `uncommitted changes: the worktree ${at.worktree} is gone, and its branch ${branch} is compared`,
    });

  it('has the commits of its branch', async () => {
    rmSync(at.worktree, { recursive: true });
    await shows(BRANCH);
    git(at.checkout, 'worktree', 'prune');
    await shows(BRANCH);
  });

  it('has the commits of the branch that the agent has made in it', async () => {
    git(at.worktree, 'checkout', '-q', '-b', 'feature');
    rmSync(at.worktree, { recursive: true });
    await shows('feature');
  });

  it('has them where the server has made an empty repository in its place', async () => {
    renameSync(at.worktree, path.join(at.machine.home, 'moved'));
    git(at.dir, 'init', '-q', at.worktree);
    await shows(BRANCH);
  });

  it('finds the at.checkout in the instructions of the agent', async () => {
    const system_message_suffix = `A worktree.\n- Original workspace: ${at.checkout}\n- Branch: x\n`;
    at.runsIn(at.worktree);
    Object.assign(at.machine.record ?? {}, { agent: { agent_context: { system_message_suffix } } });
    rmSync(at.worktree, { recursive: true });
    await shows(BRANCH);
  });

  it('exits 6 and names the folder where its branch is gone too', async () => {
    rmSync(at.worktree, { recursive: true });
    git(at.checkout, 'worktree', 'prune');
    git(at.checkout, 'branch', '-D', BRANCH);
    const err = `the folder of this conversation is gone: ${at.worktree}`;
    await at.ends(`conv diff ${ID}`, { code: 6, err });
    await at.ends(`conv pull ${ID}`, { code: 6, err, cwd: at.checkout });
  });
});

describe('conv pull of a backend', () => {
  it('applies the changes to the at.checkout, whose repository its start commit shows', async () => {
    at.write('a.txt', 'two\n');
    await at.ends(`conv pull ${ID} --json`, {
      cwd: at.checkout,
      out: { base: at.base, files: ['a.txt'], added: 1, removed: 1 },
      err: '',
    });
    expect(readFileSync(path.join(at.checkout, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('--branch commits them on the start commit', async () => {
    at.write('a.txt', 'two\n');
    const { commit: made } = await at.json<{ commit: string }>(`conv pull ${ID} --branch pulled`, {
      cwd: at.checkout,
      env: IDENTITY,
    });
    expect(git(at.checkout, 'rev-parse', `${made}^`)).toBe(at.base);
  });

  it('exits 6 and changes nothing where the user has changed the same file', async () => {
    at.write('a.txt', 'two\n');
    writeFileSync(path.join(at.checkout, 'a.txt'), 'mine\n');
    await at.ends(`conv pull ${ID}`, { code: 6, cwd: at.checkout });
    expect(readFileSync(path.join(at.checkout, 'a.txt'), 'utf8')).toBe('mine\n');
  });

  it('-o writes the added and changed files alone', async () => {
    at.write('new', 'new\n');
    await at.ends(`conv pull ${ID} -o ${at.machine.home}/out --json`, { out: { files: ['new'] } });
  });
});

describe('conv export of a backend', () => {
  it('has the diff of the workspace', async () => {
    at.write('new.txt', 'new\n');
    const { out } = await at.ends(`conv export ${ID} --as md`, { err: '' });
    expect(out).toContain('+++ b/new.txt');
  });
});
