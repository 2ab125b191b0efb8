import { beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/client/shared/server.ts';
import { startFake, untilTestEnds, type FakeServer, type Routes } from '../../support/server.ts';
import { connectTo, failure, following } from '../support/client.ts';
import { backend, backendHandler } from '../support/backend-server.ts';
import { event, finish, ID, status, userMessage } from '../support/v1-server.ts';

const DASHED = '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9';
const PATH = `/api/conversations/${ID}`;
const recorded = backend.body('conv.get') as Record<string, unknown>;

let fake: FakeServer;
let server: Server;
let record: Record<string, unknown>;
let events: Record<string, unknown>[];
let routes: Routes;

beforeEach(async () => {
  record = { ...recorded, id: DASHED, execution_status: 'idle' };
  events = [];
  routes = {};
  fake = await untilTestEnds(
    startFake((asked) =>
      backendHandler({
        [PATH]: { json: record },
        [`${PATH}/events/search`]: ({ query }) => {
          const since = query.get('timestamp__gte') ?? '';
          const items = events.filter(({ timestamp }) => String(timestamp) >= since);
          if (query.get('sort_order') === 'TIMESTAMP_DESC') items.reverse();
          return { json: { items, next_page_id: null } };
        },
        ...routes,
        // The server takes an id with dashes and without.
      })({ ...asked, path: asked.path.replace(DASHED, ID) }),
    ),
  );
  server = await connectTo(fake.url);
  fake.asked.length = 0;
});

/** The server stores the events and sends them over its sockets. */
function happens(...added: Record<string, unknown>[]): void {
  for (const one of added) {
    events.push(one);
    if (one['key'] === 'execution_status') record['execution_status'] = one['value'];
    for (const socket of fake.sockets) socket.send(JSON.stringify(one));
  }
}

describe('a record', () => {
  it('has what the recorded server returned, and its cost', async () => {
    record['execution_status'] = 'finished';
    record['tags'] = { acsrepository: 'demo/hello', acsbranch: 'next', acsbase: 'abc', other: 'x' };
    expect(await server.conversations.get(ID)).toMatchObject({
      id: ID,
      dialect: 'agent',
      status: 'finished',
      title: 'A short title',
      repository: 'demo/hello',
      branch: 'next',
      model: 'openai/scripted',
      created_at: '2026-11-27T17:42:36.444061Z',
      tokens: { input: 400, output: 80 },
      sandbox_id: null,
      url: null,
    });
  });

  it.each([
    ['waiting_for_confirmation', 'waiting', 'confirmation'],
    ['idle', 'idle', 'user'],
    ['invented', 'unknown(invented)', null],
    [null, 'unknown(no-status)', null],
  ])('with the execution status %s has the status %s', async (served, shown, waiting_for) => {
    record['execution_status'] = served;
    expect(await server.conversations.get(ID)).toMatchObject({ status: shown, waiting_for });
  });

  it('of the recorded list is read page by page', async () => {
    routes = { '/api/conversations/search': backend.reply('search.2') };
    const { items, next } = await server.conversations.list({ pageSize: 2 }, null);
    expect(items.map(({ id }) => id)).toEqual([
      '1c18fedf56bc4311b32d278051d8c9c3',
      expect.stringMatching(/^[0-9a-f]{32}$/),
    ]);
    expect(next).toBe('8502f71d1bec43688a0672db7e3a0849');
    expect(fake.asked.map(({ url }) => url)).toEqual(['/api/conversations/search?limit=2']);
  });

  it('that the server does not have is not-found; what is no UUID is not sent', async () => {
    routes = { [PATH]: backend.reply('get.unknown') };
    expect((await failure(server.conversations.get(ID))).kind).toBe('not-found');
    expect((await failure(server.conversations.get('nonsense'))).kind).toBe('not-found');
    expect(fake.lines()).toEqual([`GET /api/conversations/${DASHED}`]);
  });

  it('of a failed run has the classified reason of its newest error event', async () => {
    record['execution_status'] = 'error';
    routes = { [`${PATH}/events/search`]: backend.reply('fail.events') };
    expect((await server.conversations.getComplete(ID)).reason).toEqual({
      code: 'auth',
      text: expect.stringContaining('Incorrect API key provided') as string,
    });
  });

  it('of a run that a restart has failed has the error of its last step, and no older one', async () => {
    const failedStep = event('AgentErrorEvent', { source: 'agent', error: 'A restart occurred' });
    happens(event('ConversationErrorEvent', { source: 'environment', detail: 'of an old run' }));
    happens(userMessage('again'), failedStep, status('error'));
    const reason = async () => (await server.conversations.getComplete(ID)).reason;
    expect(await reason()).toEqual({ code: 'error', text: 'A restart occurred' });

    happens(finish('something else'), status('error'));
    expect(await reason()).toBeNull();
  });
});

describe('a deletion', () => {
  it.each([
    ['400 for one that is gone', backend.reply('delete.twice'), 'not-found'],
    ['404', { status: 404, json: { detail: 'Not Found' } }, 'not-found'],
  ])('answered with %s is %s', async (_, reply, kind) => {
    routes = { [`DELETE ${PATH}`]: reply, [`GET ${PATH}`]: backend.reply('get.unknown') };
    expect((await failure(server.conversations.remove(ID))).kind).toBe(kind);
  });

  it('answered with 400 for one that is there is the error of the server', async () => {
    routes = { [`DELETE ${PATH}`]: backend.reply('delete.twice') };
    expect(await failure(server.conversations.remove(ID))).toMatchObject({
      details: { status: 400 },
    });
  });
});

describe('a message', () => {
  it('runs an idle conversation', async () => {
    routes = {
      [`POST ${PATH}/events`]: ({ body }) => {
        happens(userMessage('again'), status('running'));
        expect(body).toEqual({
          role: 'user',
          content: [{ type: 'text', text: 'again' }],
          run: true,
        });
        return { json: { success: true } };
      },
    };
    await server.conversations.send(ID, { text: 'again', image_urls: [] });
    expect(fake.writes()).toHaveLength(1);
  });

  it('is refused while a confirmation is pending, and nothing is sent', async () => {
    record['execution_status'] = 'waiting_for_confirmation';
    const error = await failure(server.conversations.send(ID, { text: 'x', image_urls: [] }));
    expect({ kind: error.kind, writes: fake.writes() }).toEqual({
      kind: 'needs-input',
      writes: [],
    });
  });
});

describe('following', () => {
  it('delivers each event once and in order, over the socket too, and the end after its events', async () => {
    happens(userMessage('hello'), status('running'));
    const follower = following(server);
    await follower.until((lines) => lines.includes('=running') && fake.sockets.length === 1);
    happens(event('StreamingDeltaEvent', { content: 'x' }), finish('bye'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(follower.lines()).toEqual([
      'MessageEvent: hello',
      'ConversationStateUpdateEvent: execution_status: running',
      '=running',
      'ActionEvent: bye',
      'ConversationStateUpdateEvent: execution_status: finished',
      '=finished',
    ]);
  });

  it('goes on when the server is gone for a time, and misses no event', async () => {
    happens(userMessage('hello'), status('running'));
    const follower = following(server);
    await follower.until((lines) => lines.includes('=running') && fake.sockets.length === 1);
    let refused = 0;
    const bad = () => {
      refused += 1;
      return { status: 502, text: 'Bad Gateway: connect ECONNREFUSED', type: 'text/plain' };
    };
    routes = { [PATH]: bad, [`${PATH}/events/search`]: bad };
    for (const socket of fake.sockets) socket.terminate();
    await follower.until(() => refused > 3);
    happens(finish('meanwhile'));
    routes = {};
    happens(status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(follower.lines().filter((line) => line.startsWith('ActionEvent'))).toEqual([
      'ActionEvent: meanwhile',
    ]);
  });
});

it.each(['list', 'create', 'pause', 'resume', 'remove'] as const)(
  'sandboxes.%s is unsupported, and nothing is sent',
  async (verb) => {
    const call = server.sandboxes[verb] as (id: string | null) => Promise<unknown>;
    const error = await failure(call(null));
    expect(error).toMatchObject({ kind: 'unsupported' });
    expect(error.message).toContain('run in folders of its own machine');
    expect(fake.asked).toEqual([]);
  },
);
