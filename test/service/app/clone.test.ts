import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import * as repository from '../../../src/service/app/repository.ts';
import { startGitHost, startRaw, untilTestEnds } from '../../support/server.ts';
import { hasBubblewrap } from '../../support/bubblewrap.ts';
import {
  appOfSuite,
  conversation,
  endedTask,
  expectAnswers,
  startedTask,
  until,
  type Task,
} from './support.ts';

const app = appOfSuite();
const inApp = (name: string): string => path.join(app.dir, name);
let source: string;

function git(folder: string, ...argv: string[]): string {
  const who = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const env = { PATH: process.env.PATH, HOME: app.dir, GIT_CONFIG_NOSYSTEM: '1', ...who };
  return execFileSync('git', ['-C', folder, ...argv], {
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();
}

function makeRepository(name: string): string {
  const folder = inApp(name);
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

/** The sandbox of the clones whose place does not matter. */
let shared: { sandbox_id: string | null };
beforeAll(async () => {
  source = makeRepository('source');
  shared = { sandbox_id: (await start({})).sandbox_id };
});

const start = (body: object): Promise<Task> => startedTask(app, { replay_json: 'demo', ...body });

async function checkoutOf(task: Task): Promise<string> {
  expect(task).toMatchObject({ status: 'READY', detail: null });
  return (await conversation(app, task.app_conversation_id ?? ''))?.tags.archiveworkspacepath ?? '';
}
const textIn = (checkout: string): string => readFileSync(path.join(checkout, 'a.txt'), 'utf8');

describe('a repository', () => {
  it('with a setup script has the state RUNNING_SETUP_SCRIPT while the script runs', async () => {
    const folder = makeRepository('with-setup');
    mkdirSync(path.join(folder, '.openhands'));
    writeFileSync(path.join(folder, '.openhands', 'setup.sh'), 'touch set-up\n');
    git(folder, 'add', '.');
    git(folder, 'commit', '-q', '-m', 'setup');
    const { supervisor, store } = app.context;
    const send = supervisor.send.bind(supervisor);
    const seen: unknown[] = [];
    supervisor.send = (id, request) => {
      const [task] = store.startTasks.page({}, 'CREATED_AT_DESC', 1, 0);
      const { setup_script: script } = (request.json ?? {}) as { setup_script?: string };
      if (request.path === '/api/conversations') seen.push([task?.status, script]);
      return send(id, request);
    };
    await checkoutOf(await start({ selected_repository: folder }));
    await checkoutOf(await start({ selected_repository: source }));
    supervisor.send = send;
    expect(seen).toEqual([
      ['RUNNING_SETUP_SCRIPT', '.openhands/setup.sh'],
      ['STARTING_CONVERSATION', undefined],
    ]);
  });

  it.runIf(hasBubblewrap)(
    'with a setup script that does not end: the deletion of its sandbox ends the start',
    async () => {
      const folder = makeRepository('endless');
      mkdirSync(path.join(folder, '.openhands'));
      writeFileSync(path.join(folder, '.openhands', 'setup.sh'), 'touch began; exec sleep 1000\n');
      git(folder, 'add', '.');
      git(folder, 'commit', '-q', '-m', 'setup');
      const body = {
        selected_repository: folder,
        sandbox_spec_id: 'bubblewrap',
        replay_json: 'demo',
      };
      const { id } = (await app.post('/api/v1/app-conversations', body)).body as Task;
      const sandbox = await until(() => app.context.store.startTasks.get(id)?.sandbox_id);
      await until(() => existsSync(inApp(`workspaces/${sandbox}/endless/began`)));
      await app.call('DELETE', `/api/v1/sandboxes/${sandbox}?sandbox_id=${sandbox}`);
      expect(await endedTask(app, id)).toMatchObject({
        status: 'ERROR',
        app_conversation_id: null,
      });
      expect(app.context.store.sandboxes.get(sandbox ?? '')).toBeNull();
    },
  );

  it.runIf(hasBubblewrap)(
    'with a setup script that does not end: a pause of its sandbox ends the script, not the start',
    async () => {
      const folder = makeRepository('paused');
      mkdirSync(path.join(folder, '.openhands'));
      writeFileSync(path.join(folder, '.openhands', 'setup.sh'), 'touch began; exec sleep 1000\n');
      git(folder, 'add', '.');
      git(folder, 'commit', '-q', '-m', 'setup');
      const spec = { sandbox_spec_id: 'bubblewrap', replay_json: 'demo' };
      const first = { selected_repository: folder, ...spec };
      const { id } = (await app.post('/api/v1/app-conversations', first)).body as Task;
      const sandbox_id = await until(() => app.context.store.startTasks.get(id)?.sandbox_id);
      await until(() => existsSync(inApp(`workspaces/${sandbox_id}/paused/began`)));
      // It waits for the first one, and has its script later.
      const second = { ...first, sandbox_id };
      const other = ((await app.post('/api/v1/app-conversations', second)).body as Task).id;
      await until(() => app.context.store.startTasks.get(other)?.sandbox_id);
      await app.post(`/api/v1/sandboxes/${sandbox_id}/pause`);
      expect(app.context.store.sandboxes.get(sandbox_id ?? '')?.status).toBe('PAUSED');
      for (const each of [id, other])
        expect(await endedTask(app, each)).toMatchObject({ status: 'READY', detail: null });
    },
  );

  it('of this machine is cloned without uncommitted changes, with its origin', async () => {
    writeFileSync(path.join(source, 'a.txt'), 'not committed\n');
    writeFileSync(path.join(source, 'new.txt'), 'not added\n');
    const task = await start({ selected_repository: source });
    const checkout = await checkoutOf(task);
    expect([path.basename(checkout), textIn(checkout)]).toEqual(['source', 'two\n']);
    expect(existsSync(path.join(checkout, 'new.txt'))).toBe(false);
    expect(git(checkout, 'remote', 'get-url', 'origin')).toBe(source);
    const shown = await conversation(app, task.app_conversation_id ?? '');
    expect(shown).toMatchObject({ selected_repository: source, selected_branch: 'main' });
    expect(shown?.tags.basecommit).toBe(git(source, 'rev-parse', 'HEAD'));
  });

  it('shares no writable file with its source', async () => {
    const objects = path.join(
      await checkoutOf(await start({ selected_repository: `file://${source}`, ...shared })),
      '.git/objects',
    );
    const files = readdirSync(objects, { recursive: true, withFileTypes: true });
    expect(files.filter((file) => file.isFile()).length).toBeGreaterThan(0);
    expect(
      execFileSync('find', [objects, '-type', 'f', '-links', '+1'], { encoding: 'utf8' }),
    ).toBe('');
  });

  it('has a copy of the commit alone beside the workspace, which shares no file with it and goes with the sandbox', async () => {
    const task = await start({ selected_repository: source });
    const bases = inApp(`workspaces/${task.sandbox_id}.base`);
    const base = path.join(bases, 'source.git');
    expect(readdirSync(bases)).toEqual(['source.git']);
    expect(git(base, 'rev-parse', 'HEAD')).toBe(git(source, 'rev-parse', 'HEAD'));
    expect(git(base, 'log', '--format=%s')).toBe('second');
    expect(git(base, 'show', 'HEAD:a.txt')).toBe('two');
    expect(git(base, 'fsck', '--full')).toBe('');
    expect(execFileSync('find', [bases, '-type', 'f', '-links', '+1'], { encoding: 'utf8' })).toBe(
      '',
    );
    await app.call('DELETE', `/api/v1/sandboxes/${task.sandbox_id}?sandbox_id=${task.sandbox_id}`);
    await until(() => !existsSync(bases));
  });

  it('is checked out at the requested branch, and twice in a sandbox into two folders', async () => {
    const first = await start({ selected_repository: source, selected_branch: 'next' });
    expect(textIn(await checkoutOf(first))).toBe('one\n');
    const second = await start({ selected_repository: source, sandbox_id: first.sandbox_id });
    expect(path.basename(await checkoutOf(second))).toBe('source-2');
  });

  it('without that branch, or that does not exist, fails with the message of git and leaves no sandbox', async () => {
    const unknown = await start({ selected_repository: source, selected_branch: 'nope' });
    expect([unknown.status, unknown.detail]).toEqual([
      'ERROR',
      expect.stringContaining('Remote branch nope not found'),
    ]);
    await until(() => app.store.sandboxes.get(unknown.sandbox_id ?? '') === null);
    mkdirSync(inApp('no-repository'));
    const none = await start({ selected_repository: inApp('no-repository') });
    expect([none.status, none.detail]).toEqual([
      'ERROR',
      expect.stringMatching(/does not (exist|appear)/),
    ]);
    const closed = await start({ selected_repository: 'http://user:hush@127.0.0.1:9/x.git' });
    expect([closed.status, closed.detail]).toEqual(['ERROR', expect.stringContaining('127.0.0.1')]);
    expect(closed.detail).not.toContain('hush');
    expect(existsSync(inApp('staging')) ? readdirSync(inApp('staging')) : []).toEqual([]);
  });

  it('may be bare, a worktree, shallow or empty', async () => {
    git(app.dir, 'clone', '-q', '--bare', source, inApp('bare.git'));
    git(source, 'worktree', 'add', '-q', inApp('tree'), 'next');
    git(app.dir, 'clone', '-q', '--depth', '1', `file://${source}`, inApp('shallow'));
    git(app.dir, 'init', '-q', inApp('empty'));
    const cloned = async (name: string) =>
      checkoutOf(await start({ selected_repository: inApp(name), ...shared }));
    expect(path.basename(await cloned('bare.git'))).toBe('bare');
    expect([textIn(await cloned('tree')), textIn(await cloned('shallow'))]).toEqual([
      'one\n',
      'two\n',
    ]);
    expect(existsSync(path.join(await cloned('empty'), '.git'))).toBe(true);
  });

  it('of another user is cloned, and its hooks do not run', async () => {
    const foreign = makeRepository('foreign');
    const hook = path.join(foreign, '.git', 'hooks', 'post-checkout');
    writeFileSync(hook, '#!/bin/sh\ntouch ran\n');
    chmodSync(hook, 0o755);
    if (process.getuid?.() === 0) {
      const all = readdirSync(foreign, { recursive: true, encoding: 'utf8' }).map((name) =>
        path.join(foreign, name),
      );
      for (const name of [foreign, ...all]) chownSync(name, 12345, 12345);
    }
    const checkout = await checkoutOf(await start({ selected_repository: foreign, ...shared }));
    expect([textIn(checkout), existsSync(path.join(checkout, 'ran'))]).toEqual(['two\n', false]);
  });
});

describe('credentials', () => {
  /**
   * A host of a bare repository for those that bring credentials; `brought` is what requests bring.
   */
  async function repositoryHost() {
    const bare = inApp('project.git');
    if (!existsSync(bare)) git(app.dir, 'clone', '-q', '--bare', source, bare);
    git(bare, 'update-server-info');
    const host = await untilTestEnds(startGitHost(app.dir, (given) => given === undefined));
    return {
      base: host.url,
      brought: () => host.asked.map(({ headers }) => headers.authorization),
    };
  }
  const basic = (words: string): string => `Basic ${Buffer.from(words).toString('base64')}`;

  it('in the URL of a repository are used by git and are not stored where the agent can read them', async () => {
    const { base, brought } = await repositoryHost();
    const selected_repository = `${base.replace('//', '//jane:hu%40sh@')}/project.git`;
    const checkout = await checkoutOf(await start({ selected_repository, ...shared }));
    expect(brought().at(-1)).toBe(basic('jane:hu@sh'));
    const config = readFileSync(path.join(checkout, '.git', 'config'), 'utf8');
    expect(config).toContain(`${base}/project.git`);
    expect(config).not.toMatch(/jane|hu%40sh/);
  });

  it.each(['V0', 'V1'] as const)(
    'in the URL over %s are neither stored nor printed',
    async (dialect) => {
      const { base } = await repositoryHost();
      const url = `${base.replace('//', '//jane:hushed@')}/project.git`;
      const [at, member] =
        dialect === 'V0'
          ? ['conversations', 'repository']
          : ['v1/app-conversations', 'selected_repository'];
      const created = await app.post(`/api/${at}`, { replay_json: 'demo', [member]: url });
      const row = await until(
        () => app.store.startTasks.page({ dialect }, 'CREATED_AT_DESC', 1, 0)[0],
        (task) => task?.status === 'READY' || task?.status === 'ERROR',
      );
      expect(row?.status).toBe('READY');
      const kept = app.store.conversations.get(row?.conversation_id ?? '');
      expect(kept?.repository).toBe(`${base}/project.git`);
      expect(JSON.stringify([created.body, row, kept])).not.toContain('hushed');
    },
  );

  it('that are the token of a provider are sent to its host and to no other', async () => {
    const { base, brought } = await repositoryHost();
    const stored = (host: string | null) => ({
      provider_tokens: { github: { token: 'provider-token', host } },
    });
    const selected_repository = `${base}/project.git`;
    const wanted = { selected_repository, git_provider: 'github', ...shared };
    await expectAnswers(app, [['POST /api/add-git-providers', stored(null), 200]]);
    expect((await start(wanted)).status).toBe('ERROR');
    expect(brought().length).toBeGreaterThan(0);
    expect(brought().filter((header) => header !== undefined)).toEqual([]);
    await expectAnswers(app, [['POST /api/add-git-providers', stored(base), 200]]);
    expect((await start(wanted)).status).toBe('READY');
    expect(brought().at(-1)).toBe(basic('x-access-token:provider-token'));
  });
});

it('messages of git are printed without progress and credentials', () => {
  const said =
    "Cloning into '/x'...\nremote: Counting objects: 3\nfatal: unable to access " +
    "'https://me:hush@host/x/': no\n";
  expect(repository.gitMessage(said)).toBe("fatal: unable to access 'https://***@host/x/': no");
});

describe('a clone', () => {
  const cloning = (url: string, env: Record<string, string> = {}): Promise<unknown> =>
    repository.cloneRepository({
      source: repository.repositorySource(url, null, undefined),
      branch: null,
      filesFrom: null,
      dependencies: false,
      workspaceDir: app.dir,
      stagingDir: inApp('staging-of-clone'),
      env: { PATH: process.env.PATH, HOME: app.dir, ...env },
      signal: new AbortController().signal,
    });

  it('that a killed service has left is ended by the next service', async () => {
    const silent = await untilTestEnds(startRaw(null));
    const left = cloning(`${silent.url}/x.git`).catch((error: unknown) => error);
    await until(
      () => silent.sockets,
      ({ length }) => length > 0,
    );
    expect(repository.endClones(inApp('another-staging'))).toBe(0);
    expect(repository.endClones(inApp('staging-of-clone'))).toBeGreaterThan(0);
    expect(await left).toBeInstanceOf(repository.RepositoryError);
  });

  it('does not wait for a process that keeps its output open after it has ended', async () => {
    const [ssh, pids] = [inApp('ssh'), inApp('ssh.pid')];
    const lines = [
      '#!/bin/sh',
      'sleep 600 < /dev/null > /dev/null &',
      `echo $! > '${pids}'`,
      "echo 'no such host' >&2",
    ];
    writeFileSync(ssh, [...lines, 'exit 1', ''].join('\n'), { mode: 0o755 });
    const failed = await cloning('git@host.example:a/b.git', { GIT_SSH_COMMAND: ssh }).catch(
      (error: unknown) => error,
    );
    expect(String(failed)).toContain('no such host');
    process.kill(Number(readFileSync(pids, 'utf8')), 'SIGKILL');
  });
});
