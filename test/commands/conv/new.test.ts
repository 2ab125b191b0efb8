import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { leapClock, type LeapClock } from '../../support/leap-clock.ts';
import { createWorld, type Ended, type Invocation, type World } from '../../support/world.ts';
import {
  endedRun,
  errorOf,
  finish,
  git,
  json,
  jsonLines,
  makeRepository,
  replayFile,
  run,
  until,
  type ConversationJson,
  type OutcomeJson,
} from './support.ts';

let world: World;
let proxy: RecordingProxy;
let repository: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  proxy = await recordingProxy(world.service.url);
  repository = await makeRepository(path.join(world.dir, 'repository'));
});
afterAll(async () => {
  await proxy.close();
  await world.close();
});
beforeEach(() => {
  proxy.requests.length = 0;
});

const acsIn = (cwd: string, ...args: string[]): Promise<Ended> =>
  world.invoke({ args: ['conv', 'new', ...args], cwd, env: { ACS_BASE_URL: proxy.url } });
const acs = (...args: string[]): Promise<Ended> => acsIn(world.dir, ...args);
const sent = () => proxy.writes().map(({ method, path: route, body }) => ({ route: `${method} ${route}`, body }));
const sentBody = () => sent()[0]?.body as Record<string, unknown>;

describe('starting a conversation', () => {
  it('waits until it has started, and prints its record with `changed`', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--json');
    expect(ended.code).toBe(0);
    expect(json(ended)).toMatchObject({ changed: true, repository: null, dialect: 'v1' });
    expect(sent().map(({ route }) => route)).toEqual(['POST /api/v1/app-conversations']);
    expect(sentBody()['replay_json']).toBe('demo');
  });

  it('begins a replay that was recorded without words of its user', async () => {
    const file = path.join(world.dir, 'silent.json');
    await writeFile(file, JSON.stringify([{ action: 'finish', args: { final_thought: 'Done without a word.' } }]));
    for (const api of ['v1', 'v0']) {
      const ended = await acs('--no-repo', '--replay', file, '--api', api, '--wait', '--json');
      expect(ended.code, ended.err).toBe(0);
      expect(json(ended)).toMatchObject({ outcome: { status: 'finished', exit_code: 0 } });
    }
  });

  it('ends with the outcome of the run when told to wait: one document', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--wait', '--json');
    expect(ended.code).toBe(0);
    const document = json<ConversationJson & { created_at: string; updated_at: string }>(ended);
    expect(Date.parse(document.updated_at)).toBeGreaterThanOrEqual(Date.parse(document.created_at));
    expect(document.outcome).toMatchObject({
      type: 'outcome',
      conversation_id: document.id,
      status: 'finished',
      exit_code: 0,
    });
  });

  it('returns with the start task when told not to wait', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--no-wait', '--json');
    expect(ended.code).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'starting', changed: true });
    expect(json(ended).start_task_id).toMatch(/^[0-9a-f]{32}$/);
    const waited = await world.acs('conv', 'wait', json(ended).start_task_id ?? '', '--json');
    expect(json<OutcomeJson>(waited)).toMatchObject({ status: 'finished', conversation_id: json(ended).id });
  });

  it('tells an id that can be asked for at once', async () => {
    for (let start = 0; start < 3; start += 1) {
      const id = (await acs('--no-repo', '--replay', 'demo', '--no-wait', '-q')).out.trim();
      expect((await world.acs('conv', 'show', id, '--json')).code).toBe(0);
      expect((await world.acs('conv', 'wait', id)).code).toBe(0);
    }
  });

  it.each(['nowhere/run.id', '.'])('starts nothing when its id could not be written: --id-file %s', async (file) => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', file);
    expect(ended.code).toBe(3);
    expect(ended.err).toContain('--id-file');
    expect(sent()).toEqual([]);
  });

  it('prints only the id with -q', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--wait', '-q');
    expect(ended.code).toBe(0);
    expect(ended.out).toMatch(/^[0-9a-f]{32}\n$/);
  });

  it('streams: the id first, then what happens, last the outcome', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--follow', '--format', 'ndjson');
    const lines = jsonLines<{ type: string; id?: string; exit_code?: number }>(ended.out);
    expect(lines[0]).toEqual({ type: 'started', id: expect.stringMatching(/^[0-9a-f]{32}$/) as string, url: null });
    expect(new Set(lines.slice(1, -1).map(({ type }) => type))).toEqual(new Set(['event']));
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
  });

  it('says the id on stderr and writes it to the file that was asked for', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', 'run.id', '--json');
    const { id } = json(ended);
    expect(ended.err).toContain(`conversation ${id}`);
    expect(await readFile(path.join(world.dir, 'run.id'), 'utf8')).toBe(`${id}\n`);
  });

  it('is remembered as @last', async () => {
    const { id } = json(await acs('--no-repo', '--replay', 'demo', '--json'));
    const shown = await world.invoke({ args: ['conv', 'show', '@last', '-q'], env: { ACS_BASE_URL: proxy.url } });
    expect(shown.out).toBe(`${id}\n`);
  });

  it('is remembered by its start task when it did not come about', async () => {
    const failed = await acs('--repo', 'http://127.0.0.1:9/no/repository.git', '--replay', 'demo', '--json');
    expect(failed.code, failed.err).toBe(1);
    const shown = await world.invoke({ args: ['conv', 'show', '@last', '--json'], env: { ACS_BASE_URL: proxy.url } });
    expect(json(shown)).toMatchObject({ status: 'failed', start_task_id: json(failed).start_task_id });
  });

  it('sets the title by a rename, because servers ignore it at creation', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--title', 'Count the files', '--json');
    expect(json(ended).title).toBe('Count the files');
    expect(sent().map(({ route }) => route.split('?')[0])).toEqual([
      'POST /api/v1/app-conversations',
      `PATCH /api/v1/app-conversations/${json(ended).id}`,
    ]);
  });

  it('ends with 1 and the reason when the run fails', async () => {
    const id = await endedRun(world);
    const ended = await world.acs('conv', 'send', id, 'go on', '--wait', '--json');
    expect(ended.code).toBe(1);
    expect(json<OutcomeJson>(ended)).toMatchObject({ status: 'failed', exit_code: 1, reason: { code: 'NoModel' } });
  });

  it('ends with 124 at the deadline, prints the document, and leaves the run alone', async () => {
    const ended = await pastDeadline('--wait', '--json');
    expect(ended.code).toBe(124);
    expect(json(ended)).toMatchObject({ status: 'running', outcome: { exit_code: 124, reason: { code: 'timeout' } } });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    expect((await world.acs('conv', 'stop', json(ended).id)).code).toBe(0);
  });

  it('stops the run at the deadline when told to', async () => {
    const ended = await pastDeadline('--wait', '--stop-on-timeout', '--json');
    expect(ended.code).toBe(124);
    expect(json(ended)).toMatchObject({ status: 'paused', outcome: { status: 'paused', reason: { code: 'timeout' } } });
    expect(errorOf(ended)).toMatchObject({
      code: 'timeout',
      message: `the time limit of 30m has passed; conversation ${json(ended).id} was stopped`,
      hint: `see its status: acs conv show ${json(ended).id}`,
      last_status: 'paused',
    });
    expect(json(await world.acs('conv', 'show', json(ended).id, '--json')).status).toBe('paused');
  });

  it('says on an interrupt that the run goes on, and how to stop it', async () => {
    const ended = await interrupted();
    expect(ended.out, ended.err).not.toBe('');
    expect(ended.code).toBe(143);
    const { id } = json(ended);
    expect(json(ended).outcome).toMatchObject({ exit_code: 143, reason: { code: 'interrupted' } });
    expect(errorOf(ended)).toMatchObject({
      code: 'interrupted',
      hint: expect.stringContaining(`acs conv stop ${id}`) as string,
    });
    expect(json(await world.acs('conv', 'show', id, '--json')).status).toBe('running');
    expect(json(await world.acs('conv', 'stop', id, '--json'))).toMatchObject({ status: 'paused', changed: true });
  });

  it('prints its document when the interrupt comes while it looks for what the server paused', async () => {
    const look = { method: 'GET', path: '/api/v1/sandboxes/search', after: 2, latency: '30s' };
    const slow = await createWorld({ api: 'v1', spec: 'process', faults: { rules: [look] } });
    try {
      await slow.acs('conv', 'new', '--no-repo', '--replay', 'demo', '--wait');
      const interruption = new AbortController();
      const args = ['conv', 'new', '--no-repo', '--replay', 'demo', '--wait', '--id-file', 'run.id', '--json'];
      const waiting = slow.invoke({ args, signal: interruption.signal });
      const file = path.join(slow.dir, 'run.id');
      await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
      const id = readFileSync(file, 'utf8').trim();
      await until(async () => (await slow.acs('conv', 'wait', id)).code === 0);
      interruption.abort(new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 }));
      const ended = await waiting;
      expect({ code: ended.code, id: json(ended).id }).toEqual({ code: 143, id });
    } finally {
      await slow.close();
    }
  });

  it('stops the run on an interrupt when told to', async () => {
    const ended = await interrupted('--stop-on-interrupt');
    expect(ended.out, ended.err).not.toBe('');
    expect(ended.code).toBe(143);
    const { id } = json(ended);
    expect(errorOf(ended)).toMatchObject({
      code: 'interrupted',
      message: `interrupted by SIGTERM; conversation ${id} was stopped`,
      last_status: 'paused',
    });
    expect(json(await world.acs('conv', 'show', id, '--json')).status).toBe('paused');
  });

  it.each(['an interrupt', 'a deadline'])('prints one state of the run that it stopped after %s', async (end) => {
    const isDeadline = end === 'a deadline';
    const ended = isDeadline
      ? await pastDeadline('--wait', '--stop-on-timeout', '--json')
      : await interrupted('--stop-on-interrupt');
    const printed = json<Record<string, unknown>>(ended);
    const completed = json<Record<string, unknown>>(await acs('--no-repo', '--replay', 'demo', '--wait', '--json'));
    const members = (of: unknown) => Object.keys(of as object).filter((name) => name !== 'error');
    expect(members(printed)).toEqual(members(completed));
    expect(members(printed['outcome'])).toEqual(members(completed['outcome']));
    const code = isDeadline ? 'timeout' : 'interrupted';
    const { message } = errorOf(ended);
    const state = { status: 'paused', waiting_for: null, reason: { code, text: message } };
    expect(printed).toMatchObject({ ...state, execution_status: 'paused', error: { code, message } });
    expect(printed['outcome']).toMatchObject({ ...state, exit_code: ended.code, conversation_id: printed['id'] });
    const shown = json<Record<string, unknown>>(await world.acs('conv', 'show', String(printed['id']), '--json'));
    for (const field of ['status', 'execution_status', 'sandbox_status', 'cost_usd'])
      expect(printed[field], field).toEqual(shown[field]);
  });

  it('tells a deadline once to people who watch', async () => {
    const ended = await pastDeadline('--follow', '--stop-on-timeout');
    expect(ended.code).toBe(124);
    expect(`${ended.out}${ended.err}`.match(/was stopped|goes on|still running/g)).toEqual(['was stopped']);
  });

  /** A run that is waited for, and what happens once the command has told that it runs. */
  async function waitedFor(
    then: (clock: LeapClock) => void,
    flags: string[],
    rest: Partial<Invocation> = {},
  ): Promise<Ended> {
    const clock = leapClock();
    let told = '';
    const keep = (text: string) => (told += text);
    const replay = await replayFile(world, 'long.json', [run('sleep 600'), finish('done')]);
    const args = ['conv', 'new', '--no-repo', '--replay', replay, ...flags];
    const waiting = world.invoke({ args, onOut: keep, onErr: keep, clock, ...rest });
    await until(() => /conversation \w+: running|· running/.test(told));
    then(clock);
    return await waiting;
  }

  async function pastDeadline(...flags: string[]): Promise<Ended> {
    return await waitedFor((clock) => clock.leap(30 * 60_000), ['--wait-timeout', '30m', ...flags]);
  }

  async function interrupted(...flags: string[]): Promise<Ended> {
    const interruption = new AbortController();
    const sigterm = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
    const { signal } = interruption;
    return await waitedFor(() => interruption.abort(sigterm), ['--wait', '--json', ...flags], { signal });
  }

  it('sends what it would send with --dry-run, and starts nothing', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--title', 'Demo', '--dry-run', '--json');
    expect(ended.code).toBe(0);
    expect(ended.err).toContain('then: name it \\"Demo\\"');
    expect(json<{ dry_run: boolean; requests: { method: string; url: string }[] }>(ended)).toMatchObject({
      dry_run: true,
      requests: [{ method: 'POST', url: `${proxy.url}/api/v1/app-conversations` }],
    });
    expect(sent()).toEqual([]);
  });

  it('says which sandboxes were paused to make room for its own', async () => {
    const crowded = await createWorld({ spec: 'process', maxRunning: 2 });
    try {
      const started = await Promise.all(Array.from({ length: 2 }, () => crowded.acs('sandbox', 'start', '-q')));
      const ids = started.map(({ out }) => out.trim());
      const { code, err } = await crowded.acs('conv', 'new', '--no-repo', '--replay', 'demo');
      expect(code, err).toBe(0);
      expect(ids).toContain(/the server paused another sandbox to make room: (\w+)/.exec(err)?.[1]);
    } finally {
      await crowded.close();
    }
  });

  it('does not start the same id twice', async () => {
    const id = 'ab'.repeat(16);
    const first = await acs('--no-repo', '--replay', 'demo', '--id', id, '--wait', '--json');
    expect(json(first)).toMatchObject({ id, changed: true });
    proxy.requests.length = 0;
    const second = await acs('--no-repo', '--replay', 'demo', '--id', id, '--json');
    expect(second.code).toBe(0);
    expect(json(second)).toMatchObject({ id, changed: false });
    const dry = await acs('--no-repo', '--replay', 'demo', '--id', id, '--dry-run', '--json');
    expect(json(dry)).toEqual({ dry_run: true, requests: [] });
    const other = await acs('something else', '--no-repo', '--id', id, '--json');
    expect(other.code).toBe(6);
    expect(sent()).toEqual([]);
  });

  it('stays with the run of an earlier start with the same id, as it would with its own', async () => {
    const id = 'ac'.repeat(16);
    const file = path.join(world.dir, 'earlier-id');
    const replay = await replayFile(world, 'short.json', [run('sleep 1'), finish('done')]);
    const start = ['--no-repo', '--replay', replay, '--id', id];
    expect((await acs(...start, '--json')).code).toBe(0);
    const again = await acs(...start, '--wait', '--json', '--id-file', file);
    expect(again.code, again.err).toBe(0);
    expect(json(again)).toMatchObject({ id, changed: false, outcome: { status: 'finished', exit_code: 0 } });
    expect(await readFile(file, 'utf8')).toBe(`${id}\n`);
    const lines = (await acs(...start, '--follow', '--format', 'ndjson')).out.trimEnd().split('\n');
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect([types[0], types[1], types.at(-1)]).toEqual(['started', 'event', 'outcome']);
    expect((await acs(...start, '-q', '--wait')).out).toBe(`${id}\n`);
  });
});

describe('every flag', () => {
  it('reaches the wire over V1', async () => {
    const file = path.join(world.dir, 'instructions.md');
    await writeFile(file, 'Be brief.');
    const sandbox = json<{ id: string }>(await world.acs('sandbox', 'start', '--json')).id;
    const ended = await world.invoke({
      args: [
        ...['conv', 'new', 'look at this', '--repo', repository, '--branch', 'main', '--model', 'openai/some-model'],
        ...['--sandbox', sandbox, '--image', 'https://acs.example/cat.png', '--instructions', file],
        ...['--secret', 'TOKEN', '--id', 'cd'.repeat(16), '--replay', 'demo', '--json'],
      ],
      env: { ACS_BASE_URL: proxy.url, TOKEN: 'value-that-must-not-show' },
    });
    expect(ended.code, ended.err).toBe(0);
    expect(sentBody()).toEqual({
      conversation_id: 'cdcdcdcd-cdcd-cdcd-cdcd-cdcdcdcdcdcd',
      sandbox_id: sandbox,
      initial_message: {
        role: 'user',
        run: true,
        content: [
          { type: 'text', text: 'look at this' },
          { type: 'image', image_urls: ['https://acs.example/cat.png'] },
        ],
      },
      selected_repository: repository,
      selected_branch: 'main',
      llm_model: 'openai/some-model',
      system_message_suffix: 'Be brief.',
      secrets: { TOKEN: 'value-that-must-not-show' },
      replay_json: 'demo',
    });
    expect(ended.out + ended.err).not.toContain('value-that-must-not-show');
  });

  it('reaches the wire over V0', async () => {
    const mcp = path.join(world.dir, 'mcp.json');
    await writeFile(
      mcp,
      JSON.stringify({ stdio_servers: [{ name: 'files', command: 'mcp-files', env: { KEY: 'hidden-value' } }] }),
    );
    const instructions = path.join(world.dir, 'instructions.md');
    await writeFile(instructions, 'Be brief.');
    const image = path.join(world.dir, 'dot.png');
    await writeFile(image, Buffer.from('89504e470d0a1a0a', 'hex'));
    const ended = await acs(
      ...['look at this', '--api', 'v0', '--repo', repository, '-b', 'main', '--image', image, '--replay', 'demo'],
      ...['--instructions', instructions, '--mcp-config', mcp, '--json'],
    );
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended).dialect).toBe('v0');
    expect(sent()[0]?.route).toBe('POST /api/conversations');
    expect(sentBody()).toMatchObject({
      initial_user_msg: 'look at this',
      repository,
      selected_branch: 'main',
      image_urls: ['data:image/png;base64,iVBORw0KGgo='],
      conversation_instructions: 'Be brief.',
      replay_json: 'demo',
      mcp_config: { stdio_servers: [{ name: 'files', command: 'mcp-files', env: { KEY: 'hidden-value' } }] },
    });
    expect(ended.out + ended.err).not.toContain('hidden-value');
  });
});

describe('the message', () => {
  it('may come from a file or from stdin', async () => {
    const file = path.join(world.dir, 'task.md');
    await writeFile(file, 'from a file\n');
    await acs('--file', file, '--no-repo', '--replay', 'demo', '--json');
    expect(JSON.stringify(sentBody())).toContain('from a file');
    proxy.requests.length = 0;
    await world.invoke({
      args: ['conv', 'new', '-', '--no-repo', '--replay', 'demo'],
      stdin: 'from stdin',
      env: { ACS_BASE_URL: proxy.url },
    });
    expect(JSON.stringify(sentBody())).toContain('from stdin');
  });

  it('of 5 MiB is sent whole', async () => {
    const file = path.join(world.dir, 'huge.md');
    await writeFile(file, 'é'.repeat(2.5 * 1024 * 1024));
    const ended = await acs('--file', file, '--no-repo', '--replay', 'demo', '--wait', '--json');
    expect(ended.code, ended.err.slice(0, 500)).toBe(0);
    const message = sentBody()['initial_message'] as { content: { text: string }[] };
    expect(message.content[0]?.text.length).toBe(2.5 * 1024 * 1024);
  });

  it('of more than can be sent is refused with its size', async () => {
    const file = path.join(world.dir, 'too-much.md');
    await writeFile(file, Buffer.alloc(17 * 1024 * 1024, 'a'));
    const ended = await acs('--file', file, '--no-repo', '--json');
    expect(ended.code).toBe(2);
    expect(errorOf(ended).message).toContain('17.0 MiB');
  });
});

describe('what is wrong in flags and files', () => {
  const bad: [string, string[], number][] = [
    ['an empty message', ['', '--no-repo'], 2],
    ['a message of blanks', ['  \n', '--no-repo'], 2],
    ['no message at all', ['--no-repo'], 2],
    ['two messages', ['one', '--file', 'task.md'], 2],
    ['a message file that is not there', ['--file', 'nowhere.md'], 3],
    ['a replay that is not there', ['--no-repo', '--replay', 'nowhere.json'], 3],
    ['MCP servers that are not there', ['hi', '--mcp-config', 'nowhere.json'], 3],
    ['instructions that are not there', ['hi', '--instructions', 'nowhere.md'], 3],
    ['an image that is not there', ['hi', '--image', 'nowhere.png'], 3],
    ['a folder for a file', ['--file', '.'], 3],
    ['a replay that is no JSON', ['--replay', 'broken.json'], 2],
    ['a replay without steps acs knows', ['--no-repo', '--replay', 'odd.json'], 2],
    ['MCP servers that are no JSON', ['hi', '--mcp-config', 'broken.json'], 2],
    ['MCP servers of a wrong form', ['hi', '--mcp-config', 'odd-mcp.json'], 2],
    ['an image that is none', ['hi', '--image', 'broken.json'], 2],
    ['a secret that is not set', ['hi', '--secret', 'NOT_SET_HERE'], 2],
    ['a secret with its value', ['hi', '--secret', 'NAME=value'], 2],
    ['an id of digits only', ['hi', '--id', '1'.repeat(32)], 2],
    ['an empty branch', ['hi', '-b', ''], 2],
    ['a branch without a repository', ['hi', '--no-repo', '-b', 'main'], 2],
    ['a dialect that does not exist', ['hi', '--api', 'v2'], 2],
    ['a duration without a unit', ['hi', '--wait-timeout', '30'], 2],
    ['two readers of stdin', ['-', '--file', '-'], 2],
    ['--no-wait and --follow', ['hi', '--no-wait', '--follow'], 2],
    ['a limit for a wait, and --no-wait', ['hi', '--no-wait', '--wait-timeout', '5m'], 2],
    ['a folder that is no checkout', ['hi', '--repo', './nowhere'], 5],
    ['a sandbox that is not there', ['hi', '--sandbox', 'doesnotexist'], 5],
    ['no model and no replay', ['hi', '--no-repo'], 3],
  ];

  beforeAll(async () => {
    await writeFile(path.join(world.dir, 'broken.json'), '{"a":');
    await writeFile(path.join(world.dir, 'odd.json'), '[{"action":"juggle"}]');
    await writeFile(path.join(world.dir, 'odd-mcp.json'), '{"stdio_servers":[{"name":"a b"}]}');
  });

  it.each(bad)('%s: nothing is started', async (_, args, code) => {
    const before = json<{ items: unknown[] }>(await world.acs('conv', 'list', '--all-pages', '--json')).items.length;
    const ended = await acs(...args, '--json');
    expect(ended.code, ended.err).toBe(code);
    expect(ended.out).toBe('');
    expect(errorOf(ended).message).not.toBe('');
    const after = json<{ items: unknown[] }>(await world.acs('conv', 'list', '--all-pages', '--json')).items.length;
    expect(after).toBe(before);
  });

  it('the demo is refused by a server that does not have it', async () => {
    const v0 = await createWorld({ api: 'v0' });
    try {
      const ended = await v0.acs('conv', 'new', '--api', 'v1', '--no-repo', 'hi', '--json');
      expect(ended.code).toBe(12);
    } finally {
      await v0.close();
    }
  });
});

describe('the repository', () => {
  it('is the checkout it runs in, and says so', async () => {
    const folder = path.join(repository, 'deep');
    await mkdir(folder, { recursive: true });
    const ended = await acsIn(folder, '--replay', 'demo', '--json');
    expect(json(ended)).toMatchObject({ repository, branch: 'main' });
    expect(jsonLines<{ notice: string }>(ended.err)[0]?.notice).toContain(`repository ${repository}, branch main`);
  });

  it('is none where there is no checkout, and says so', async () => {
    const ended = await acs('--replay', 'demo', '--json');
    expect(json(ended).repository).toBeNull();
    expect(ended.err).toContain('no git checkout here');
  });

  it('may be a path', async () => {
    const ended = await acs('--repo', './repository', '--replay', 'demo', '--json');
    expect(json(ended)).toMatchObject({ repository, branch: 'main' });
  });

  it('must have the branch', async () => {
    const ended = await acsIn(repository, '--replay', 'demo', '-b', 'nope', '--json');
    expect(ended.code).toBe(5);
    expect(sent()).toEqual([]);
  });

  it('is named with its branch when the checkout is on none', async () => {
    const detached = await makeRepository(path.join(world.dir, 'detached'));
    await git(detached, 'checkout', '-q', '--detach');
    expect((await acsIn(detached, '--replay', 'demo', '--json')).code).toBe(2);
    expect(sent()).toEqual([]);
    const ended = await acsIn(detached, '--replay', 'demo', '-b', 'main', '--json');
    expect(json(ended)).toMatchObject({ branch: 'main' });
  });

  it('is started from its commits, with a warning about what is not among them', async () => {
    const dirty = await makeRepository(path.join(world.dir, 'dirty'));
    await writeFile(path.join(dirty, 'README.md'), 'changed\n');
    const ended = await acsIn(dirty, '--replay', 'demo', '--json');
    expect(ended.code).toBe(0);
    expect(ended.err).toContain('uncommitted changes');
  });

  it('really is in the workspace: events, diff and files agree', async () => {
    const file = await replayFile(world, 'edit.json', [
      run('cat README.md'),
      { action: 'write', args: { path: 'NEW.md', content: 'new words\n' } },
      run('cat NEW.md'),
      finish('written'),
    ]);
    const started = json<ConversationJson>(await acsIn(repository, '--replay', file, '--wait', '--json'));
    const { items } = json<{ items: { kind: string; text: string }[] }>(
      await world.acs('conv', 'events', started.id, '--kind', 'ObservationEvent', '--json'),
    );
    expect(items.map(({ text }) => text)).toEqual(expect.arrayContaining(['hello', 'new words']));
    const diff = await world.acs('conv', 'diff', started.id);
    expect(diff.out).toContain('+new words');
    expect(diff.out).not.toContain('README');
    expect((await world.acs('conv', 'result', started.id)).out).toBe('written');
    expect(await git(repository, 'status', '--short')).toBe('');
  });
});
