/** The adapters against the local service: two readings of the interface that check each other. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/clock.ts';
import type { Conversation } from '../../src/domain/conversation.ts';
import { eachEvent } from '../../src/domain/event.ts';
import type { NewConversation } from '../../src/domain/new-conversation.ts';
import { connect } from '../../src/servers/connect.ts';
import type { FollowItem } from '../../src/runs/follow-source.ts';
import type { Server } from '../../src/servers/server.ts';
import { until } from '../support/until.ts';
import { createWorld, type World } from '../support/world.ts';
import { failure } from './support/failure.ts';
import { newConversation } from './support/new-conversation.ts';

const execute = promisify(execFile);
const never = new AbortController().signal;

async function git(cwd: string, ...args: string[]): Promise<string> {
  const identity = [
    '-c',
    'user.name=Test',
    '-c',
    'user.email=test@example.com',
    '-c',
    'commit.gpgsign=false',
    '-c',
    'init.defaultBranch=main',
  ];
  const { stdout } = await execute('git', [...identity, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' },
  });
  return stdout;
}

function open(world: World): Promise<Server> {
  return connect({
    baseUrl: world.service.url,
    key: world.service.key,
    local: true,
    env: {},
    clock: clockFrom(() => Date.now()),
    signal: never,
    mode: 'live',
  });
}

async function start(server: Server, members: Partial<NewConversation>): Promise<Conversation> {
  const running = server.conversations.start(newConversation({ message: null, ...members }), {
    signal: never,
    until: 'started',
  });
  for (;;) {
    const next = await running.next();
    if (next.done) return next.value;
  }
}

async function untilEnd(server: Server, id: string): Promise<FollowItem[]> {
  const items: FollowItem[] = [];
  for await (const item of server.conversations.follow(id, { signal: never })) {
    items.push(item);
    if (
      item.type === 'state' &&
      ['finished', 'failed', 'stuck', 'stopped', 'archived'].includes(item.conversation.status)
    )
      break;
  }
  return items;
}

const idsOf = (items: FollowItem[]): string[] =>
  items.flatMap((item) => (item.type === 'event' ? [item.event.id] : []));

/** A recorded run of the V0 form: commands, then the end. */
function replayOf(...commands: string[]): string {
  const steps = commands.map((command, id) => ({ id, source: 'agent', action: 'run', args: { command } }));
  return JSON.stringify([
    ...steps,
    { id: commands.length, source: 'agent', action: 'finish', args: { final_thought: 'all done' } },
  ]);
}

describe.each(['v1', 'v0'] as const)('the local service over %s', (api) => {
  let world: World;
  let server: Server;
  let repository: string;

  beforeAll(async () => {
    world = await createWorld({ api });
    server = await open(world);
    repository = path.join(world.dir, 'origin');
    await mkdir(repository);
    await git(repository, 'init', '-q', '-b', 'main');
    await writeFile(path.join(repository, 'kept.txt'), 'one\ntwo\nthree\n');
    await writeFile(path.join(repository, 'moved.txt'), 'a text that is long enough to be seen as moved\n'.repeat(5));
    await writeFile(path.join(repository, 'gone.txt'), 'bye\n');
    await git(repository, 'add', '.');
    await git(repository, 'commit', '-q', '-m', 'first');
  });

  afterAll(async () => {
    await server.close();
    await world.close();
  });

  it('is found by the probe', () => {
    expect(server.info).toMatchObject({ flavour: 'local', dialect: api, dialects: [api] });
    expect(server.presence('replay')).toBe('present');
  });

  it('starts a replay, is followed to its end, and returns the same events afterwards', async () => {
    const conversation = await start(server, { replay: replayOf('echo hello', 'echo again') });
    expect(conversation).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string, dialect: api });
    const items = await untilEnd(server, conversation.id);
    expect(items.at(-1)).toMatchObject({ type: 'state', conversation: { status: 'finished' } });
    const ids = idsOf(items);
    expect(new Set(ids).size).toBe(ids.length);
    const listed: string[] = [];
    for await (const event of eachEvent(server.conversations.eventPages(conversation.id, {}))) listed.push(event.id);
    expect(listed).toEqual(ids);
    expect(await server.conversations.result(conversation.id)).toBe('all done');
    expect((await server.conversations.getComplete(conversation.id)).status).toBe('finished');
    expect((await server.conversations.list({}, null)).items.map(({ id }) => id)).toContain(conversation.id);
  });

  it('refuses a broken replay, a start without a model, and an unknown id', async () => {
    expect((await failure(start(server, { replay: '{"broken' }))).kind).toBe('usage');
    expect((await failure(start(server, { message: 'do it' }))).kind).toBe('config');
    expect((await failure(server.conversations.get('f'.repeat(32)))).kind).toBe('not-found');
  });

  it('is renamed and deleted', async () => {
    const { id } = await start(server, { replay: replayOf('true') });
    expect((await server.conversations.rename(id, 'A new name')).title).toBe('A new name');
    await server.conversations.remove(id);
    expect((await failure(server.conversations.get(id))).kind).toBe('not-found');
    expect((await failure(server.conversations.remove(id))).kind).toBe('not-found');
  });

  it('returns the difference between the workspace and the clone', async () => {
    const { id } = await start(server, {
      repository,
      replay: replayOf(
        'echo TWO >> kept.txt; rm gone.txt',
        'echo new > "with space.txt"',
        'git -c user.name=A -c user.email=a@b commit -qam inner; echo later >> kept.txt',
      ),
    });
    await untilEnd(server, id);
    const { patch, changes } = await server.conversations.diff(id);
    expect(changes.map(({ path: name, status }) => [name, status]).sort()).toEqual([
      ['gone.txt', 'deleted'],
      ['kept.txt', 'modified'],
      ['with space.txt', 'added'],
    ]);
    const copy = path.join(world.dir, `copy-${api}`);
    await git(world.dir, 'clone', '-q', repository, copy);
    await writeFile(path.join(world.dir, 'patch'), patch);
    await git(copy, 'apply', '--index', path.join(world.dir, 'patch'));
    expect(await readFile(path.join(copy, 'kept.txt'), 'utf8')).toBe('one\ntwo\nthree\nTWO\nlater\n');
    expect(await readFile(path.join(copy, 'with space.txt'), 'utf8')).toBe('new\n');
  });

  it('changes one setting and no other', async () => {
    await server.settings.write({
      set: { llm_model: 'openai/x', llm_api_key: 'sk-very-secret-value', max_budget_per_task: 2.5 },
      unset: [],
      allow_loss: 'refuse',
    });
    const before = await server.settings.read();
    const after = await server.settings.write({ set: { max_iterations: 7 }, unset: [], allow_loss: 'refuse' });
    expect(after).toEqual({ ...before, values: { ...before.values, max_iterations: 7 } });
    expect(after.secrets['llm_api_key']).toBe('set');
    expect(JSON.stringify(after)).not.toContain('sk-very-secret-value');
    await server.settings.write({
      set: {},
      unset: ['llm_model', 'llm_api_key', 'max_iterations'],
      allow_loss: 'refuse',
    });
    expect((await server.settings.read()).secrets['llm_api_key']).toBe('unset');
  });

  it('refuses a key that is not its own', async () => {
    const error = await failure(
      connect({
        baseUrl: world.service.url,
        key: 'wrong',
        local: true,
        env: {},
        clock: clockFrom(() => Date.now()),
        signal: never,
        mode: 'live',
      }),
    );
    expect(error.kind).toBe('auth');
  });
});

describe('V1 of the local service', () => {
  let world: World;
  let server: Server;
  let repository: string;

  beforeAll(async () => {
    world = await createWorld({ api: 'v1' });
    server = await open(world);
    repository = path.join(world.dir, 'origin');
    await mkdir(repository);
    await git(repository, 'init', '-q', '-b', 'main');
    await writeFile(path.join(repository, 'tool.sh'), '#!/bin/sh\n');
    await writeFile(path.join(repository, 'image.bin'), Buffer.from([0, 1, 2, 255, 254, 0]));
    await git(repository, 'add', '.');
    await git(repository, 'commit', '-q', '-m', 'first');
  });

  afterAll(async () => {
    await server.close();
    await world.close();
  });

  it('keeps binary content, modes and renames in a difference, and leaves the workspace as it was', async () => {
    const { id } = await start(server, {
      repository,
      replay: replayOf('chmod +x tool.sh; printf "\\000\\377\\001" > image.bin; git mv image.bin other.bin;'),
    });
    await untilEnd(server, id);
    const { patch, omissions } = await server.conversations.diff(id);
    expect(omissions).toEqual([]);
    const copy = path.join(world.dir, 'copy');
    await git(world.dir, 'clone', '-q', repository, copy);
    await writeFile(path.join(world.dir, 'patch'), patch);
    await git(copy, 'apply', '--index', path.join(world.dir, 'patch'));
    expect([...(await readFile(path.join(copy, 'other.bin')))]).toEqual([0, 255, 1]);
    expect(await git(copy, 'diff', '--cached', '--summary')).toContain('mode change 100644 => 100755 tool.sh');
    expect(await server.conversations.diff(id)).toEqual(await server.conversations.diff(id));
  });

  it('returns a patch that git applies, whatever the configuration of git in the workspace', async () => {
    const settings = [
      ['diff.noprefix', 'true'],
      ['diff.mnemonicPrefix', 'true'],
      ['diff.context', '0'],
      ['diff.orderFile', '/nowhere'],
      ['diff.external', '/bin/false'],
      ['diff.ignoreSubmodules', 'all'],
      ['color.diff', 'always'],
      ['core.autocrlf', 'true'],
      ['core.safecrlf', 'true'],
    ];
    const configure = settings.map(([name, value]) => `git config ${name} ${value}`).join(' && ');
    const nested = 'git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m first';
    const { id } = await start(server, {
      repository,
      replay: replayOf(`echo "echo more" >> tool.sh; ${nested}; ${configure}`),
    });
    await untilEnd(server, id);
    const { patch, changes, omissions } = await server.conversations.diff(id);
    expect(changes).toEqual([{ path: 'tool.sh', status: 'modified' }]);
    expect(omissions).toEqual(['lib: it is a repository of its own, and its files are not compared']);
    const copy = path.join(world.dir, 'copy-configured');
    await git(world.dir, 'clone', '-q', repository, copy);
    await writeFile(path.join(world.dir, 'patch'), patch);
    await git(copy, 'apply', '--index', path.join(world.dir, 'patch'));
    expect(await readFile(path.join(copy, 'tool.sh'), 'utf8')).toBe('#!/bin/sh\necho more\n');
  });

  it('returns a difference that is longer than the output of one command may be', async () => {
    const bytes = 9 * 1024 * 1024;
    const { id } = await start(server, { repository, replay: replayOf(`head -c ${bytes} /dev/urandom > large.bin`) });
    await untilEnd(server, id);
    const { patch, changes } = await server.conversations.diff(id);
    expect(changes).toEqual([{ path: 'large.bin', status: 'added' }]);
    const copy = path.join(world.dir, 'copy-large');
    await git(world.dir, 'clone', '-q', repository, copy);
    await writeFile(path.join(world.dir, 'patch'), patch);
    await git(copy, 'apply', '--index', path.join(world.dir, 'patch'));
    expect((await readFile(path.join(copy, 'large.bin'))).length).toBe(bytes);
  });

  it('names the submodules in which files were changed and not committed', async () => {
    const above = path.join(world.dir, 'with-submodules');
    await git(world.dir, 'clone', '-q', repository, above);
    const commit = (await git(above, 'rev-parse', 'HEAD')).trim();
    for (const name of ['edited', 'empty', 'filled', 'untouched']) {
      await git(above, 'update-index', '--add', '--cacheinfo', `160000,${commit},${name}`);
    }
    await git(above, 'commit', '-q', '-m', 'submodules');
    const checkedOut = (name: string) => `git clone -q . ${name}; git -C ${name} checkout -q ${commit};`;
    const { id } = await start(server, {
      repository: above,
      replay: replayOf(
        `${checkedOut('edited')} ${checkedOut('untouched')} echo more >> edited/tool.sh; echo > filled/new`,
      ),
    });
    await untilEnd(server, id);
    const { patch, omissions } = await server.conversations.diff(id);
    expect({ patch: patch.length, omissions }).toEqual({
      patch: 0,
      omissions: ['edited', 'filled'].map(
        (name) => `${name}: a submodule with uncommitted changes, which are not compared`,
      ),
    });
  });

  it('reports a missing branch and a missing repository', async () => {
    const branch = await failure(start(server, { repository, branch: 'no-such-branch', replay: replayOf('true') }));
    expect(['not-found', 'failed']).toContain(branch.kind);
    const missing = await failure(
      start(server, { repository: path.join(world.dir, 'nowhere'), replay: replayOf('true') }),
    );
    expect(['not-found', 'failed', 'usage']).toContain(missing.kind);
  });

  it('follows a run through a pause of its sandbox', async () => {
    // Released when the pause has been seen, however long that takes.
    const waits = 'while ! test -e go; do sleep 0.05; done';
    const conversation = await start(server, { replay: replayOf('echo one', waits, 'echo two') });
    const sandbox = conversation.sandbox_id ?? '';
    const items: FollowItem[] = [];
    let paused: 'not-yet' | 'asked' | 'resumed' = 'not-yet';
    for await (const item of server.conversations.follow(conversation.id, { signal: never })) {
      items.push(item);
      if (paused === 'not-yet' && item.type === 'event' && item.event.text === 'one') {
        paused = 'asked';
        await server.sandboxes.pause(sandbox);
      }
      if (paused === 'asked' && item.type === 'state' && item.conversation.sandbox_status === 'paused') {
        paused = 'resumed';
        await server.sandboxes.resume(sandbox);
        await writeFile(path.join(world.dataDir, 'workspaces', sandbox, 'go'), '');
      }
      if (item.type === 'state' && item.conversation.status === 'finished') break;
    }
    const ids = idsOf(items);
    expect(new Set(ids).size).toBe(ids.length);
    const listed: string[] = [];
    for await (const event of eachEvent(server.conversations.eventPages(conversation.id, {}))) listed.push(event.id);
    expect(ids).toEqual(listed);
    expect(paused).toBe('resumed');
  });

  it('stops a run', async () => {
    const { id } = await start(server, { replay: replayOf('sleep 600') });
    await server.conversations.stop(id);
    for await (const item of server.conversations.follow(id, { signal: never })) {
      if (item.type === 'state' && item.conversation.status === 'paused') break;
    }
    expect((await server.conversations.get(id)).status).toBe('paused');
  });

  it('creates, pauses, resumes and deletes sandboxes', async () => {
    const { id } = await server.sandboxes.create(null);
    const becomes = (status: string) => until(async () => (await server.sandboxes.get(id)).status === status);
    await becomes('running');
    expect((await server.sandboxes.secrets(id)).session_api_key).toBeTruthy();
    await server.sandboxes.pause(id);
    await becomes('paused');
    await server.sandboxes.resume(id);
    await becomes('running');
    await server.sandboxes.remove(id);
    expect((await failure(server.sandboxes.pause(id))).kind).toBe('not-found');
    expect((await failure(server.sandboxes.create('no-such-spec'))).kind).toBe('not-found');
    expect((await server.specs.list(null)).items.filter((spec) => spec.default)).toHaveLength(1);
  });

  it('starts one conversation when the same id is started twice', async () => {
    const conversation_id = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
    const first = await start(server, { conversation_id, replay: replayOf('true') });
    expect(first.id).toBe(conversation_id);
  });
});
