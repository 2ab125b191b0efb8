/** `conv follow` after a socket that the agent server refuses: one read decides whether the stream ends. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finish, ID, status, userMessage } from '../servers/support/v1-world.ts';
import type { Reply } from '../servers/support/fake-server.ts';
import { until } from '../support/until.ts';
import type { Ended } from '../support/world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

const UNAUTHORIZED: Reply = { status: 401, json: { detail: 'Invalid session API key' } };
const NOT_FOUND: Reply = { status: 404, json: { detail: `Conversation not found: ${ID}` } };
const CODES = { auth: 4, 'not-found': 5 };

let trap: V1Trap;
beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation();
  trap.agentEvents.push(userMessage('begin'));
});
afterEach(() => trap.close());

const follow = (): Promise<Ended> => trap.acs('conv', 'follow', ID, '--json');

function emit(one: Record<string, unknown>): void {
  trap.agentEvents.push(one);
  for (const socket of trap.fake.sockets) socket.send(JSON.stringify(one));
}

/** The socket opens, and is closed with this code. */
async function closeWith(code: number): Promise<void> {
  await until(() => trap.fake.sockets.length === 1);
  trap.fake.sockets[0]?.close(code);
}

const REFUSALS = [
  { code: 4001, answer: UNAUTHORIZED, kind: 'auth' },
  { code: 4004, answer: NOT_FOUND, kind: 'not-found' },
] as const;

describe.each(REFUSALS)('conv follow after a close with $code', ({ code, answer, kind }) => {
  it(`ends with ${kind} when the sandbox confirms it`, async () => {
    const ended = follow();
    trap.fake.onSocket = () => {
      trap.before = ({ path }) => (path.startsWith('/agent/') ? answer : null);
    };
    await closeWith(code);
    expect(await ended).toMatchObject({ code: CODES[kind] });
  });

  it(`ends with ${kind} when the app server confirms it`, async () => {
    const ended = follow();
    trap.fake.onSocket = () => {
      if (kind === 'not-found') trap.conversations.delete(ID);
      else trap.before = () => UNAUTHORIZED;
    };
    await closeWith(code);
    expect(await ended).toMatchObject({ code: CODES[kind] });
  });

  it('connects again when the sandbox answers, and loses no event', async () => {
    const ended = follow();
    await closeWith(code);
    trap.agentEvents.push(finish('missed'));
    await until(() => trap.fake.sockets.length > 1);
    trap.conversations.get(ID)!['execution_status'] = 'finished';
    emit(finish('after'));
    emit(status('finished'));
    const { code: exit, out, err } = await ended;
    expect(exit, err).toBe(0);
    const ids = out.split('\n').flatMap((line) => /"type":"event","id":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(ids).toEqual(trap.agentEvents.map(({ id }) => id));
  });
});

describe('conv follow where the socket is refused before it opens', () => {
  beforeEach(() => {
    trap.fake.acceptSocket = () => false;
  });

  it.each(REFUSALS)('ends with $kind when the sandbox answers so', async ({ answer, kind }) => {
    trap.before = ({ path }) => (path.startsWith('/agent/') ? answer : null);
    expect(await follow()).toMatchObject({ code: CODES[kind] });
  });

  it('goes on with the key that the sandbox has meanwhile', async () => {
    const record = trap.conversations.get(ID)!;
    const { session_api_key: key } = record;
    record['session_api_key'] = 'key-of-before';
    let refused = 0;
    trap.before = ({ path, headers }) => {
      if (!path.startsWith('/agent/') || headers['x-session-api-key'] === key) return null;
      record['session_api_key'] = key;
      refused += 1;
      return UNAUTHORIZED;
    };
    trap.agentEvents.push(finish('done'), status('finished'));
    record['execution_status'] = 'finished';
    const { code, out, err } = await follow();
    expect(code, err).toBe(0);
    expect([refused, out]).toEqual([1, expect.stringContaining('"text":"done"')]);
  });
});
