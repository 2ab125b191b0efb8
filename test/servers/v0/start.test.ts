import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../support/fake-server.ts';
import { newConversation } from '../support/new-conversation.ts';
import { recordings } from '../support/recordings.ts';

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
