import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CloneError, cloneRepository, endClones, gitMessage } from '../../../../src/service/app/repositories/clone.ts';
import { repositorySource } from '../../../../src/service/app/repositories/repository.ts';
import { appOfSuite, conversation, startedTask, type Task, until } from '../support.ts';

const app = appOfSuite();
let source: string;

function git(folder: string, ...argv: string[]): string {
  const env = {
    PATH: process.env.PATH,
    HOME: app.dir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  return execFileSync('git', ['-C', folder, ...argv], { env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

function makeRepository(name: string): string {
  const folder = path.join(app.dir, name);
  mkdirSync(folder);
  git(folder, 'init', '-q', '-b', 'main');
  writeFileSync(path.join(folder, 'a.txt'), 'one\n');
  git(folder, 'add', '.');
  git(folder, 'commit', '-q', '-m', 'first');
  git(folder, 'branch', 'next');
  writeFileSync(path.join(folder, 'a.txt'), 'two\n');
  git(folder, 'commit', '-q', '-a', '-m', 'second');
  return folder;
}

beforeAll(async () => {
  source = makeRepository('source');
});

const start = (body: object): Promise<Task> => startedTask(app, { replay_json: 'demo', ...body });

async function checkoutOf(task: Task): Promise<string> {
  expect(task).toMatchObject({ status: 'READY', detail: null });
  const shown = await conversation(app, task.app_conversation_id ?? '');
  return shown?.tags.archiveworkspacepath ?? '';
}

describe('a repository', () => {
  it('of this machine is cloned without uncommitted changes, with its origin', async () => {
    writeFileSync(path.join(source, 'a.txt'), 'not committed\n');
    writeFileSync(path.join(source, 'new.txt'), 'not added\n');
    const task = await start({ selected_repository: source });
    const checkout = await checkoutOf(task);
    expect(path.basename(checkout)).toBe('source');
    expect(readFileSync(path.join(checkout, 'a.txt'), 'utf8')).toBe('two\n');
    expect(existsSync(path.join(checkout, 'new.txt'))).toBe(false);
    expect(git(checkout, 'remote', 'get-url', 'origin')).toBe(source);
    const shown = await conversation(app, task.app_conversation_id ?? '');
    expect(shown).toMatchObject({ selected_repository: source, selected_branch: 'main' });
    expect(shown?.tags.basecommit).toBe(git(source, 'rev-parse', 'HEAD'));
  });

  it('shares no writable file with its source', async () => {
    const checkout = await checkoutOf(await start({ selected_repository: `file://${source}` }));
    const files = readdirSync(path.join(checkout, '.git', 'objects'), { recursive: true, withFileTypes: true });
    expect(files.filter((file) => file.isFile()).length).toBeGreaterThan(0);
    const linked = execFileSync('find', [path.join(checkout, '.git', 'objects'), '-type', 'f', '-links', '+1'], {
      encoding: 'utf8',
    });
    expect(linked).toBe('');
  });

  it('is checked out at the requested branch, and twice in a sandbox into two folders', async () => {
    const first = await start({ selected_repository: source, selected_branch: 'next' });
    const checkout = await checkoutOf(first);
    expect(readFileSync(path.join(checkout, 'a.txt'), 'utf8')).toBe('one\n');
    const second = await start({ selected_repository: source, sandbox_id: first.sandbox_id });
    expect(path.basename(await checkoutOf(second))).toBe('source-2');
  });

  it('without that branch, or that does not exist, fails with the message of git and leaves no sandbox', async () => {
    const unknown = await start({ selected_repository: source, selected_branch: 'nope' });
    expect(unknown).toMatchObject({ status: 'ERROR', detail: expect.stringContaining('Remote branch nope not found') });
    await until(
      async () => (await app.call('GET', `/api/v1/sandboxes?id=${unknown.sandbox_id}`)).body as unknown[],
      ([sandbox]) => sandbox === null,
    );
    const folder = path.join(app.dir, 'no-repository');
    mkdirSync(folder);
    const none = await start({ selected_repository: folder });
    expect(none).toMatchObject({
      status: 'ERROR',
      detail: expect.stringMatching(/does not (exist|appear)/),
    });
    const closed = await start({ selected_repository: 'http://user:hush@127.0.0.1:9/x.git' });
    expect(closed).toMatchObject({ status: 'ERROR', detail: expect.stringContaining('127.0.0.1') });
    expect(closed.detail).not.toContain('hush');
    expect(existsSync(path.join(app.dir, 'staging')) ? readdirSync(path.join(app.dir, 'staging')) : []).toEqual([]);
  });

  it('may be bare, a worktree, shallow or empty', async () => {
    const bare = path.join(app.dir, 'bare.git');
    git(app.dir, 'clone', '-q', '--bare', source, bare);
    expect(path.basename(await checkoutOf(await start({ selected_repository: bare })))).toBe('bare');
    const worktree = path.join(app.dir, 'tree');
    git(source, 'worktree', 'add', '-q', worktree, 'next');
    const ofTree = await checkoutOf(await start({ selected_repository: worktree }));
    expect(readFileSync(path.join(ofTree, 'a.txt'), 'utf8')).toBe('one\n');
    const shallow = path.join(app.dir, 'shallow');
    git(app.dir, 'clone', '-q', '--depth', '1', `file://${source}`, shallow);
    const ofShallow = await checkoutOf(await start({ selected_repository: shallow }));
    expect(readFileSync(path.join(ofShallow, 'a.txt'), 'utf8')).toBe('two\n');
    const empty = path.join(app.dir, 'empty');
    mkdirSync(empty);
    git(empty, 'init', '-q');
    expect(existsSync(path.join(await checkoutOf(await start({ selected_repository: empty })), '.git'))).toBe(true);
  });

  it('of another user is cloned, and its hooks do not run', async () => {
    const foreign = makeRepository('foreign');
    const hook = path.join(foreign, '.git', 'hooks', 'post-checkout');
    writeFileSync(hook, '#!/bin/sh\ntouch ran\n');
    chmodSync(hook, 0o755);
    if (process.getuid?.() === 0) {
      const all = readdirSync(foreign, { recursive: true, encoding: 'utf8' }).map((name) => path.join(foreign, name));
      for (const name of [foreign, ...all]) chownSync(name, 12345, 12345);
    }
    const checkout = await checkoutOf(await start({ selected_repository: foreign }));
    expect(existsSync(path.join(checkout, 'a.txt'))).toBe(true);
    expect(existsSync(path.join(checkout, 'ran'))).toBe(false);
  });
});

describe('messages', () => {
  it('of git are printed without progress and credentials', () => {
    const said =
      "Cloning into '/x'...\nremote: Counting objects: 3\nfatal: unable to access 'https://me:hush@host/x/': no\n";
    expect(gitMessage(said)).toBe("fatal: unable to access 'https://***@host/x/': no");
  });
});

describe('a clone', () => {
  const cloning = (url: string, env: Record<string, string> = {}): Promise<unknown> =>
    cloneRepository({
      source: repositorySource(url, null, null),
      branch: null,
      workspaceDir: app.dir,
      stagingDir: path.join(app.dir, 'staging-of-clone'),
      env: { PATH: process.env.PATH, HOME: app.dir, ...env },
      token: null,
      signal: new AbortController().signal,
    });

  it('that a killed service has left is ended by the next service', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const asked = new Promise((resolve) => server.once('request', resolve));
    const { port } = server.address() as AddressInfo;
    const left = cloning(`http://127.0.0.1:${port}/x.git`).catch((error: unknown) => error);
    await asked;
    expect(endClones(path.join(app.dir, 'another-staging'))).toBe(0);
    expect(endClones(path.join(app.dir, 'staging-of-clone'))).toBeGreaterThan(0);
    expect(await left).toBeInstanceOf(CloneError);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('does not wait for a process that keeps its output open after it has ended', async () => {
    const ssh = path.join(app.dir, 'ssh');
    const pids = path.join(app.dir, 'ssh.pid');
    writeFileSync(
      ssh,
      `#!/bin/sh\nsleep 600 < /dev/null > /dev/null &\necho $! > '${pids}'\necho 'no such host' >&2\nexit 1\n`,
      {
        mode: 0o755,
      },
    );
    const failed = await cloning('git@host.example:a/b.git', { GIT_SSH_COMMAND: ssh }).catch((error: unknown) => error);
    expect(String(failed)).toContain('no such host');
    process.kill(Number(readFileSync(pids, 'utf8')), 'SIGKILL');
  });
});
