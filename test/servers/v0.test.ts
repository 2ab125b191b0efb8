import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachEvent } from '../../src/domain/event.ts';
import type { FollowItem } from '../../src/runs/follow-source.ts';
import type { Server } from '../../src/servers/server.ts';
import { connectTo } from './support/connect.ts';
import { failure } from './support/failure.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from './support/fake-server.ts';
import { newConversation } from './support/new-conversation.ts';
import { recordings } from './support/recordings.ts';

const older = recordings('1.6.0');
const ID = 'c3722f6b04ea4a4b8883a7dd7563356d';
let fake: FakeServer;
let server: Server;
let record: Record<string, unknown> | null;
let events: Record<string, unknown>[];
/** Asked before the routes. */
let before: (asked: Asked) => Reply | null;

beforeEach(async () => {
  record = {
    ...(older.body('v0.error.401.record') as Record<string, unknown>),
    conversation_id: ID,
    url: `/api/conversations/${ID}`,
  };
  events = (older.body('v0.events') as { events: Record<string, unknown>[] }).events;
  before = () => null;
  fake = await startFake((asked) => before(asked) ?? answer(asked));
  server = await connectTo(fake.url);
  fake.asked.length = 0;
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

function answer({ method, path, query }: Asked): Reply {
  switch (`${method} ${path}`) {
    case 'GET /api/options/config':
      return older.reply('probe.options-config');
    case 'GET /api/conversations':
      return older.reply('v0.many.list');
    case `GET /api/conversations/${ID}`:
      return { json: record };
    case `GET /api/conversations/${ID}/events`: {
      const start = Number(query.get('start_id') ?? 0);
      const end = Number(query.get('end_id') ?? Infinity);
      const limit = Number(query.get('limit') ?? 20);
      const found = events.filter(({ id }) => Number(id) >= start && Number(id) <= end);
      if (query.get('reverse') === 'true') found.reverse();
      return { json: { events: found.slice(0, limit), has_more: found.length > limit } };
    }
    default:
      return NOT_FOUND;
  }
}

const stateChanged = (id: number, agent_state: string, reason = ''): Record<string, unknown> => ({
  id,
  timestamp: '2026-11-21T10:30:00',
  source: 'environment',
  observation: 'agent_state_changed',
  extras: { agent_state, reason },
});

describe('a V0 conversation', () => {
  it('is listed with the statuses of acs', async () => {
    const { items, next } = await server.conversations.list({}, null);
    expect(next).toBeNull();
    expect(items.map((one) => one.status)).toEqual(['running', 'running', 'running', 'stopped', 'stopped']);
    expect(items[0]).toMatchObject({
      id: '5cd7192ff2e443128168ffd09410384c',
      dialect: 'v0',
      execution_status: null,
      sandbox_id: null,
    });
  });

  it('has the status of its newest agent state, which alone reports failures', async () => {
    events = (older.body('v0.error.401.tail') as { events: Record<string, unknown>[] }).events.toReversed();
    expect(await server.conversations.get(ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'ERROR_LLM_AUTHENTICATION', text: 'error llm authentication' },
    });
  });

  it('is finished when the agent has answered and waits for the user, idle before that', async () => {
    const last = events.length;
    events = [
      { id: 0, source: 'user', action: 'message', args: { content: 'hi' } },
      stateChanged(1, 'awaiting_user_input'),
    ];
    expect((await server.conversations.get(ID)).status).toBe('idle');
    events.splice(1, 0, { id: 1, source: 'agent', action: 'message', args: { content: 'hello' } });
    events[2] = stateChanged(2, 'awaiting_user_input');
    expect((await server.conversations.get(ID)).status).toBe('finished');
    expect(last).toBeGreaterThan(0);
  });

  it('stays finished after it was stopped', async () => {
    record = { ...record, status: 'STOPPED' };
    events = [stateChanged(0, 'running'), stateChanged(1, 'finished'), stateChanged(2, 'stopped')];
    expect((await server.conversations.get(ID)).status).toBe('finished');
    events = [stateChanged(0, 'running'), stateChanged(1, 'stopped')];
    expect((await server.conversations.get(ID)).status).toBe('stopped');
  });

  it('is not found where the server answers null, or 404', async () => {
    record = null;
    expect((await failure(server.conversations.get(ID))).kind).toBe('not-found');
    before = ({ path }) => (path.endsWith(ID) ? NOT_FOUND : null);
    expect((await failure(server.conversations.get(ID))).kind).toBe('not-found');
  });

  it('has its events read page by page, forwards and backwards', async () => {
    events = Array.from({ length: 250 }, (_, id) => ({
      id,
      timestamp: '2026-11-21T10:30:00',
      source: 'agent',
      action: 'run',
      args: { command: `echo ${id}` },
    }));
    const read = async (order: 'oldest-first' | 'newest-first'): Promise<string[]> => {
      const ids: string[] = [];
      for await (const event of eachEvent(server.conversations.eventPages(ID, { order }))) ids.push(event.id);
      return ids;
    };
    const forwards = await read('oldest-first');
    expect([forwards.length, forwards[0], forwards.at(-1)]).toEqual([250, '0', '249']);
    expect(await read('newest-first')).toEqual(forwards.toReversed());
  });

  it('is followed by reading, each event once, to its end', async () => {
    const all = events;
    events = all.slice(0, 4);
    const stop = new AbortController();
    const items: FollowItem[] = [];
    for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
      items.push(item);
      if (item.type === 'state' && item.conversation.status === 'running')
        events = [...all, stateChanged(1000, 'finished')];
      if (item.type === 'state' && item.conversation.status === 'finished') break;
    }
    const ids = items.flatMap((item) => (item.type === 'event' ? [item.event.id] : []));
    expect(ids).toEqual([...all.map(({ id }) => String(id)), '1000']);
  });

  it('sends a message as a raw action, and refuses one while it is stopped', async () => {
    before = ({ method, path }) =>
      method === 'POST' && path === `/api/conversations/${ID}/events` ? { json: { success: true } } : null;
    await server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(fake.asked.at(-1)?.body).toEqual({ action: 'message', args: { content: 'go on', image_urls: [] } });
    record = { ...record, status: 'STOPPED' };
    expect((await failure(server.conversations.send(ID, { text: 'x', image_urls: [] }))).kind).toBe('conflict');
  });

  it('requests its own runtime at the host and with the key of the runtime', async () => {
    const runtime = await startFake(({ method }) => ({
      json: method === 'GET' ? { events: [], has_more: false } : { success: true },
    }));
    record = { ...record, url: `${runtime.url}/api/conversations/${ID}`, session_api_key: 'runtime-key-123456' };
    await server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(runtime.asked[0]?.headers['x-session-api-key']).toBe('runtime-key-123456');
    expect(runtime.asked[0]?.headers.authorization).toBeUndefined();
    await runtime.close();
  });
});

describe('the difference over V0', () => {
  it('is computed from both sides of each file, and names files whose sides cannot be read', async () => {
    const sides: Record<string, { original: string | null; modified: string | null }> = {
      'changed.txt': { original: 'a\nb\nc', modified: 'a\nB\nc' },
      'new.txt': { original: '', modified: 'hello' },
      'gone.txt': { original: 'bye\n', modified: '' },
      'image.png': { original: null, modified: '\0PNG' },
    };
    before = ({ path, query }) => {
      if (path.endsWith('/git/changes')) {
        return {
          json: [
            ['changed.txt', 'M'],
            ['new.txt', 'U'],
            ['gone.txt', 'D'],
            ['image.png', 'A'],
          ].map(([name, status]) => ({ path: name, status })),
        };
      }
      return path.endsWith('/git/diff') ? { json: sides[query.get('path') ?? ''] } : null;
    };
    const { patch, changes, omissions } = await server.conversations.diff(ID);
    expect(changes.map((one) => one.status)).toEqual(['modified', 'added', 'deleted', 'added']);
    expect(new TextDecoder().decode(patch)).toBe(
      [
        'diff --git a/changed.txt b/changed.txt',
        '--- a/changed.txt',
        '+++ b/changed.txt',
        '@@ -1,3 +1,3 @@',
        ' a',
        '-b',
        '+B',
        ' c',
        'diff --git a/new.txt b/new.txt',
        'new file mode 100644',
        '--- /dev/null',
        '+++ b/new.txt',
        '@@ -0,0 +1,1 @@',
        '+hello',
        'diff --git a/gone.txt b/gone.txt',
        'deleted file mode 100644',
        '--- a/gone.txt',
        '+++ /dev/null',
        '@@ -1,1 +0,0 @@',
        '-bye',
        '',
      ].join('\n'),
    );
    expect(omissions.join('\n')).toMatch(/file modes[\s\S]*image\.png: its content is not text/);
  });

  it('names a path that cannot be compared and continues, keeps the order, and reports each file', async () => {
    const names = ['gone.txt', ...Array.from({ length: 9 }, (_, index) => `new-${index}.txt`)];
    before = ({ path, query }) => {
      if (path.endsWith('/git/changes')) return { json: names.map((name) => ({ path: name, status: 'A' })) };
      if (!path.endsWith('/git/diff')) return null;
      const name = query.get('path') ?? '';
      return name === 'gone.txt'
        ? { status: 404, json: { error: 'no such file' } }
        : { json: { original: '', modified: name } };
    };
    const reports: [number, number][] = [];
    const { patch, changes, omissions } = await server.conversations.diff(ID, (read, of) => reports.push([read, of]));
    expect(changes.map((one) => one.path)).toEqual(names);
    const compared = [...new TextDecoder().decode(patch).matchAll(/^\+(new-.*)$/gm)].map(([, name]) => name);
    expect(compared).toEqual(names.slice(1));
    expect(omissions.at(-1)).toMatch(/^gone\.txt: it could not be compared: /);
    expect(reports).toEqual(Array.from({ length: names.length + 1 }, (_, read) => [read, names.length]));
  });
});

describe('starting over V0', () => {
  const post = (reply: Reply): void => {
    before = ({ method, path }) => (method === 'POST' && path === '/api/conversations' ? reply : null);
  };
  const start = async (members: Parameters<typeof newConversation>[0]): Promise<string> => {
    const running = server.conversations.start(newConversation(members), {
      signal: new AbortController().signal,
      until: 'started',
    });
    for (;;) {
      const next = await running.next();
      if (next.done) return next.value.id;
    }
  };

  it('sends every member of the interface under its name, and no member without a flag', async () => {
    post({ json: { status: 'ok', conversation_id: ID, message: null } });
    const suggested_task = {
      git_provider: 'github',
      task_type: 'FAILING_CHECKS',
      repo: 'a/b',
      issue_number: 3,
      title: 't',
    };
    await start({
      repository: 'a/b',
      branch: 'main',
      git_provider: 'github',
      image_urls: ['https://x.example/y.png'],
      replay: '[]',
      suggested_task,
      microagent: { repo: 'a/b' },
      instructions: 'be kind',
      mcp_config: { sse_servers: [] },
      conversation_id: ID,
    });
    expect(fake.asked.find(({ method }) => method === 'POST')?.body).toEqual({
      repository: 'a/b',
      git_provider: 'github',
      selected_branch: 'main',
      initial_user_msg: 'do it',
      image_urls: ['https://x.example/y.png'],
      replay_json: '[]',
      suggested_task,
      create_microagent: { repo: 'a/b' },
      conversation_instructions: 'be kind',
      mcp_config: { sse_servers: [] },
      conversation_id: ID,
    });
    fake.asked.length = 0;
    await start({});
    expect(fake.asked.find(({ method }) => method === 'POST')?.body).toEqual({ initial_user_msg: 'do it' });
  });

  it.each([
    [
      {
        status: 400,
        json: { status: 'error', message: 'Settings not found', msg_id: 'CONFIGURATION$SETTINGS_NOT_FOUND' },
      },
      'config',
    ],
    [
      { status: 422, json: { detail: [{ loc: ['body', 'conversation_id'], msg: 'Extra inputs are not permitted' }] } },
      'unsupported',
    ],
    [{ status: 422, json: { detail: [{ loc: ['body', 'replay_json'], msg: 'no JSON' }] } }, 'usage'],
    [{ status: 401, json: 'No token for this provider' }, 'auth'],
    [{ cut: true }, 'unknown-outcome'],
  ] as [Reply, string][])('reports a start that got %j as %s', async (reply, kind) => {
    post(reply);
    const error = await failure(start({ conversation_id: kind === 'unsupported' ? ID : null }));
    expect(error.kind).toBe(kind);
    expect(fake.lines().filter((line) => line === 'POST /api/conversations')).toHaveLength(1);
  });

  it('refuses flags that V0 does not support before anything is sent', async () => {
    for (const members of [
      { model: 'x' },
      { spec_id: 's' },
      { sandbox_id: 's' },
      { secrets: { A: 'b' } },
      { confirm: 'always' as const },
    ]) {
      expect((await failure(start(members))).kind).toBe('unsupported');
    }
    expect(fake.asked).toEqual([]);
  });
});
