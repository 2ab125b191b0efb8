import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import type { Server } from '../../src/client/shared/server.ts';
import { until } from '../support/test-clock.ts';
import { connectTo, failure, newConversation } from './support/client.ts';
import {
  NOT_FOUND,
  startFake,
  type Asked,
  type FakeServer,
  type Reply,
} from '../support/server.ts';

let fake: FakeServer;
let server: Server;

afterEach(async () => {
  await server.close();
  await fake.close();
});

/**
 * A server with these routes besides its document, which names the paths and the members of a V1
 * start.
 */
async function serve(
  paths: string[],
  startMembers: string[],
  routes: Record<string, (asked: Asked) => Reply>,
): Promise<void> {
  const properties = Object.fromEntries(startMembers.map((name) => [name, {}]));
  const operation = {
    requestBody: { content: { 'application/json': { schema: { properties } } } },
  };
  const document = {
    paths: Object.fromEntries(paths.map((path) => [path, { get: {}, post: operation }])),
  };
  fake = await startFake((asked) => {
    if (asked.path === '/openapi.json') return { json: document };
    return routes[`${asked.method} ${asked.path}`]?.(asked) ?? NOT_FOUND;
  });
  server = await connectTo(fake.url);
}

async function start(members: Parameters<typeof newConversation>[0] = {}): Promise<void> {
  const options = { signal: new AbortController().signal, until: 'started' } as const;
  const running = server.conversations.start(newConversation(members), options);
  while (!(await running.next()).done);
}

const cut = (): Reply => ({ cut: true });
const sent = (line: string): number => fake.lines().filter((one) => one === line).length;

describe('a create whose answer was lost', () => {
  it('has an unknown outcome when a V0 server cannot be read afterwards', async () => {
    await serve(['/api/conversations'], [], {
      'POST /api/conversations': cut,
      'GET /api/conversations': cut,
    });
    const error = await failure(start());
    expect([error.kind, error.exitCode]).toEqual(['unknown-outcome', 11]);
    expect(sent('POST /api/conversations')).toBe(1);
  });

  it('of V0 that a deadline ends is a timeout, with the time at which the request was sent', async () => {
    await serve(['/api/conversations'], [], {
      'POST /api/conversations': () => ({ silence: true }),
    });
    const deadline = new AbortController();
    const options = { signal: deadline.signal, until: 'started' } as const;
    const limited = await server.withSignal(deadline.signal);
    const starting = failure(limited.conversations.start(newConversation(), options).next());
    // No answer comes: the sender can only wait.
    await until(() => sent('POST /api/conversations') > 0);
    deadline.abort(new AppError('timeout', 'it took too long'));
    const error = await starting;
    expect([error.kind, error.exitCode]).toEqual(['timeout', 124]);
    expect(error.message).toContain('may have taken the start');
    expect(error.details.hint).toMatch(/^it was sent at .*\n.*acs conv list/);
  });

  it('has an unknown outcome when the sandboxes cannot be listed afterwards', async () => {
    await serve(['/api/v1/app-conversations', '/api/v1/sandboxes'], [], {
      'POST /api/v1/sandboxes': cut,
      'GET /api/v1/sandboxes/search': cut,
    });
    expect((await failure(server.sandboxes.create(null))).kind).toBe('unknown-outcome');
    expect(sent('POST /api/v1/sandboxes')).toBe(1);
  });

  it('has an unknown outcome when the key is refused afterwards', async () => {
    const refused = (): Reply => ({ status: 401, json: { detail: 'Unauthorized' } });
    await serve(['/api/v1/app-conversations'], ['conversation_id'], {
      'POST /api/v1/app-conversations': cut,
      'GET /api/v1/app-conversations': refused,
      'GET /api/v1/app-conversations/start-tasks/search': refused,
    });
    expect((await failure(start())).kind).toBe('unknown-outcome');
  });

  it('is not repeated at a server that ignores the id of the caller, not even into a given sandbox', async () => {
    await serve(['/api/v1/app-conversations'], ['initial_message', 'sandbox_id'], {
      'POST /api/v1/app-conversations': cut,
      'GET /api/v1/app-conversations': ({ query }) => ({
        json: query.getAll('ids').map(() => null),
      }),
      'GET /api/v1/app-conversations/start-tasks/search': () => ({
        json: { items: [], next_page_id: null },
      }),
    });
    expect((await failure(start({ sandbox_id: 'sb1' }))).kind).toBe('unknown-outcome');
    expect(sent('POST /api/v1/app-conversations')).toBe(1);
  });
});

it('a start continues through a restart of the server while its task is in progress', async () => {
  const id = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
  const task = { id, request: {}, app_conversation_id: id };
  let polls = 0;
  await serve(['/api/v1/app-conversations'], ['conversation_id'], {
    'POST /api/v1/app-conversations': () => ({
      json: { ...task, app_conversation_id: null, status: 'WORKING' },
    }),
    'GET /api/v1/app-conversations/start-tasks': () =>
      ++polls <= 6 ? { cut: true } : { json: [{ ...task, status: 'READY' }] },
    'GET /api/v1/app-conversations': () => ({
      json: [{ id, sandbox_status: 'RUNNING', execution_status: 'running' }],
    }),
  });
  await start();
  expect(polls).toBe(7);
  expect(sent('POST /api/v1/app-conversations')).toBe(1);
});
