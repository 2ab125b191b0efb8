/** Servers before 1.6.0 write records in place: a read in that moment is 500, and the next one is right (interface 13). */
import { afterEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { finish, ID, status, userMessage } from '../support/v1-world.ts';

const HALF_WRITTEN: Reply = { status: 500, json: { detail: 'Internal Server Error' } };

let trap: V1Trap;
afterEach(() => trap.close());

it('a read is repeated on 500, up to four tries', async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
  let reads = 0;
  trap.before = ({ path }) => (path === '/api/v1/app-conversations/search' && ++reads < 4 ? HALF_WRITTEN : null);
  expect(await trap.acs('conv', 'list', '-q')).toMatchObject({ code: 0, out: `${ID}\n` });
  expect(reads).toBe(4);
});

it('a 500 that stays is exit 9 with the words of the server, after four tries', async () => {
  trap = await v1Trap();
  let reads = 0;
  trap.before = ({ path }) => (path === '/api/v1/app-conversations/search' && ++reads > 0 ? HALF_WRITTEN : null);
  const { code, err } = await trap.acs('conv', 'list', '--json');
  expect(code).toBe(9);
  expect(JSON.parse(err)).toMatchObject({ error: { code: 'server', status: 500, retryable: true } });
  expect(reads).toBe(4);
});

it('a 500 that takes longer than two seconds is not repeated', async () => {
  trap = await v1Trap();
  let reads = 0;
  trap.before = ({ path }) => {
    if (path !== '/api/v1/app-conversations/search') return null;
    reads += 1;
    return trap.clock.sleep(2_500).then(() => HALF_WRITTEN);
  };
  expect(await trap.acs('conv', 'list')).toMatchObject({ code: 9 });
  expect(reads).toBe(1);
});

it('the probe does not repeat a 500', async () => {
  trap = await v1Trap();
  trap.before = ({ path }) => (path === '/openapi.json' ? HALF_WRITTEN : null);
  expect(await trap.acs('conv', 'list', '-q')).toMatchObject({ code: 0 });
  expect(trap.fake.lines().filter((line) => line === 'GET /openapi.json')).toHaveLength(1);
});

it('a change is not repeated on 500', async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
  trap.agentState['execution_status'] = 'finished';
  let sent = 0;
  trap.before = ({ method }) => (method === 'POST' && ++sent > 0 ? HALF_WRITTEN : null);
  expect(await trap.acs('conv', 'send', ID, 'hello')).toMatchObject({ code: 9 });
  expect(sent).toBe(1);
});

it('conv follow goes on after a 500 of the record and of the events', async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
  trap.agentEvents.push(userMessage('hello'), finish('done'), status('finished'));
  let reads = 0;
  trap.before = ({ method }) => (method === 'GET' && ++reads % 2 === 1 ? HALF_WRITTEN : null);
  expect(await trap.acs('conv', 'follow', ID)).toMatchObject({ code: 0 });
});

describe('a rate limit', () => {
  const limited = (reply: Reply, times: number): void => {
    let left = times;
    const { before } = trap;
    trap.before = (asked) => (asked.path.endsWith('/search') && left-- > 0 ? reply : before(asked));
  };
  const FORMS: [string, Reply][] = [
    [
      'of a self-hosted server',
      { status: 429, json: { message: 'Too many requests' }, headers: { 'retry-after': '1' } },
    ],
    [
      'of the cloud',
      {
        status: 429,
        json: { error: 'Rate limit exceeded: 10 per 1 second' },
        headers: {
          'retry-after': '1',
          'x-ratelimit-limit': '10',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1',
        },
      },
    ],
  ];

  it.each(FORMS)('%s delays the request', async (_, reply) => {
    trap = await v1Trap();
    trap.addConversation();
    limited(reply, 2);
    const { code, out, err } = await trap.acs('conv', 'list', '-q');
    expect(code, err).toBe(0);
    expect(out).toBe(`${ID}\n`);
  });

  it.each(FORMS)('%s that stays is exit 7 with its words, after four tries', async (_, reply) => {
    trap = await v1Trap();
    limited(reply, 100);
    const { code, out, err } = await trap.acs('conv', 'list', '--json');
    expect({ code, out }).toEqual({ code: 7, out: '' });
    expect(err).toMatch(/Too many requests|Rate limit exceeded/);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'rate-limited', retryable: true, status: 429 } });
    expect(trap.fake.lines().filter((line) => line.endsWith('/search'))).toHaveLength(4);
  });

  it.each(FORMS)('%s does not send a message twice: a refused one was not stored', async (_, reply) => {
    trap = await v1Trap();
    trap.addConversation({ execution_status: 'finished' });
    trap.agentState['execution_status'] = 'finished';
    const sent: Asked[] = [];
    let taken = 0;
    trap.before = (asked) => {
      if (asked.method !== 'POST') return null;
      sent.push(asked);
      if (sent.length <= 2) return reply;
      taken += 1;
      return { json: { success: true, sandbox_status: 'RUNNING', message: null } };
    };
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(taken).toBe(1);
  });

  it('of a day is not waited for: exit 7 at once, with the message of the server', async () => {
    trap = await v1Trap();
    const detail = {
      code: 'daily_conversation_limit_reached',
      message: 'You have used all conversations of today',
      limit: 10,
      used: 10,
      reset_at: '2026-11-22T00:00:00Z',
    };
    let sent = 0;
    trap.before = ({ method }) => {
      if (method !== 'POST') return null;
      sent += 1;
      return { status: 429, json: { detail } };
    };
    const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo');
    expect({ code, sent }).toEqual({ code: 7, sent: 1 });
    expect(err).toContain('You have used all conversations of today');
  });
});
