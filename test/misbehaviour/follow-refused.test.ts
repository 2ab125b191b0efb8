/**
 * `conv follow` after a socket that the agent server refuses: one read decides whether the stream
 * ends.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { finish, ID, status, userMessage } from '../client/support/v1-server.ts';
import type { Reply } from '../support/server.ts';
import { until } from '../support/test-clock.ts';
import type { Ended } from '../support/world.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const UNAUTHORIZED: Reply = { status: 401, json: { detail: 'Invalid session API key' } };
const NOT_FOUND: Reply = { status: 404, json: { detail: `Conversation not found: ${ID}` } };
const CODES = { auth: 4, 'not-found': 5 };

const at = useIdleV1();
beforeEach(() => {
  at.v1.addConversation();
  at.v1.agentEvents.push(userMessage('begin'));
});
const follow = (): Promise<Ended> => at.acs('conv', 'follow', ID, '--json');

function emit(one: Record<string, unknown>): void {
  at.v1.agentEvents.push(one);
  for (const socket of at.server.sockets) socket.send(JSON.stringify(one));
}

/** The socket opens, and is closed with this code. */
async function closeWith(code: number): Promise<void> {
  await until(() => at.server.sockets.length === 1);
  at.server.sockets[0]?.close(code);
}

const REFUSALS = [
  { code: 4001, answer: UNAUTHORIZED, kind: 'auth' },
  { code: 4004, answer: NOT_FOUND, kind: 'not-found' },
] as const;

describe.each(REFUSALS)('conv follow after a close with $code', ({ code, answer, kind }) => {
  it(`ends with ${kind} when the sandbox confirms it`, async () => {
    const ended = follow();
    at.server.onSocket = () => {
      at.v1.before = ({ path }) => (path.startsWith('/agent/') ? answer : null);
    };
    await closeWith(code);
    expect(await ended).toMatchObject({ code: CODES[kind] });
  });

  it(`ends with ${kind} when the app server confirms it`, async () => {
    const ended = follow();
    at.server.onSocket = () => {
      if (kind === 'not-found') at.v1.conversations.delete(ID);
      else at.v1.before = () => UNAUTHORIZED;
    };
    await closeWith(code);
    expect(await ended).toMatchObject({ code: CODES[kind] });
  });

  it('connects again when the sandbox answers, and loses no event', async () => {
    const ended = follow();
    await closeWith(code);
    at.v1.agentEvents.push(finish('missed'));
    await until(() => at.server.sockets.length > 1);
    at.v1.conversations.get(ID)!['execution_status'] = 'finished';
    emit(finish('after'));
    emit(status('finished'));
    const { code: exit, out, err } = await ended;
    expect(exit, err).toBe(0);
    const ids = out
      .split('\n')
      .flatMap((line) => /"type":"event","id":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(ids).toEqual(at.v1.agentEvents.map(({ id }) => id));
  });
});

describe('conv follow where the socket is refused before it opens', () => {
  beforeEach(() => {
    at.server.acceptSocket = () => false;
  });

  it.each(REFUSALS)('ends with $kind when the sandbox answers so', async ({ answer, kind }) => {
    at.v1.before = ({ path }) => (path.startsWith('/agent/') ? answer : null);
    expect(await follow()).toMatchObject({ code: CODES[kind] });
  });

  it('goes on with the key that the sandbox has meanwhile', async () => {
    const record = at.v1.conversations.get(ID)!;
    const { session_api_key: key } = record;
    record['session_api_key'] = 'key-of-before';
    let refused = 0;
    at.v1.before = ({ path, headers }) => {
      if (!path.startsWith('/agent/') || headers['x-session-api-key'] === key) return null;
      record['session_api_key'] = key;
      record['execution_status'] = 'finished';
      refused += 1;
      return UNAUTHORIZED;
    };
    at.v1.agentEvents.push(finish('done'), status('finished'));
    const { code, out, err } = await follow();
    expect(code, err).toBe(0);
    expect([refused, out]).toEqual([1, expect.stringContaining('"text":"done"')]);
  });
});
