/**
 * Servers before 1.6.0 write records in place: a read in that moment is 500, and the next one is
 * right (interface 13).
 */
import { expect, it } from 'vitest';
import { errorOf } from '../../support/use-world.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { Reply } from '../../support/server.ts';
import { finish, ID, status, userMessage } from '../support/v1-server.ts';

const HALF_WRITTEN: Reply = { status: 500, json: { detail: 'Internal Server Error' } };
const LIST = 'GET /api/v1/app-conversations/search';
const at = useV1();

/** How many requests of this line were sent. */
const sent = (line: string): number => at.server.lines().filter((one) => one === line).length;

it.each([
  [3, 0],
  [4, 9],
])(
  'a read is sent up to four times: after %i answers of 500 the command exits %i',
  async (failures, code) => {
    at.v1.addConversation({ execution_status: 'finished' });
    let left = failures;
    at.script({ [LIST]: () => (left-- > 0 ? HALF_WRITTEN : null) });
    const ended = await at.ends('conv list --json', { code });
    if (code === 9)
      expect(errorOf(ended)).toMatchObject({ code: 'server', status: 500, retryable: true });
    expect(sent(LIST)).toBe(4);
  },
);

it('a 500 that takes longer than two seconds is not repeated', async () => {
  const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
  at.script({ [LIST]: () => clock.sleep(2_500).then(() => HALF_WRITTEN) });
  await at.ends('conv list', { code: 9, clock });
  expect(sent(LIST)).toBe(1);
});

it('the probe does not repeat a 500', async () => {
  at.script({ 'GET /openapi.json': HALF_WRITTEN });
  await at.ends('whoami', { env: { ACS_CONFIG_DIR: `${at.configDir}-500` } });
  expect(sent('GET /openapi.json')).toBe(1);
});

it('conv follow goes on after a 500 of the record and of the events', async () => {
  at.v1.addConversation({ execution_status: 'finished' });
  at.v1.agentEvents.push(userMessage('hello'), finish('done'), status('finished'));
  let reads = 0;
  at.script(({ method }) => (method === 'GET' && ++reads % 2 === 1 ? HALF_WRITTEN : null));
  await at.ends(`conv follow ${ID}`, {});
});

it.each<[string, Reply, number]>([
  ['500', HALF_WRITTEN, 9],
  [
    '429 of a self-hosted server',
    { status: 429, json: { message: 'Slow' }, headers: { 'retry-after': '1' } },
    0,
  ],
])(
  'a message that is answered once with %s is stored once or not at all',
  async (_, reply, code) => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.agentState['execution_status'] = 'finished';
    let refused = 0;
    let taken = 0;
    at.script(({ method }) => {
      if (method !== 'POST') return null;
      if (refused++ === 0) return reply;
      taken += 1;
      return { json: { success: true, sandbox_status: 'RUNNING', message: null } };
    });
    await at.ends(['conv', 'send', ID, 'hello'], { code });
    expect(taken).toBe(code === 0 ? 1 : 0);
  },
);

it('a daily limit is not waited for: exit 7 at once, with the message of the server', async () => {
  const detail = {
    code: 'daily_conversation_limit_reached',
    message: 'You have used all conversations of today',
  };
  at.script(({ method }) => (method === 'POST' ? { status: 429, json: { detail } } : null));
  await at.ends('conv new hello --no-repo', {
    code: 7,
    err: detail.message,
    writes: ['POST /api/v1/app-conversations'],
  });
});
