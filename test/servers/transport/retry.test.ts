/** Servers before 1.6.0 write records in place: a read in that moment is 500, and the next one is right (interface 13). */
import { afterEach, expect, it } from 'vitest';
import type { Reply } from '../support/fake-server.ts';
import { finish, ID, status, userMessage } from '../support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';

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
