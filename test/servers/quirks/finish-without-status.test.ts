import { afterEach, beforeEach, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { event, finish, ID, status, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

it('a run is finished when its events end with the finish observation and no status event', async () => {
  const gone = { execution_status: null, conversation_url: null, session_api_key: null, sandbox_status: 'MISSING' };
  trap.addConversation(gone);
  const observation = event('ObservationEvent', { tool_name: 'finish', source: 'environment' });
  trap.appEvents.push(userMessage('do it'), status('running'), finish('the answer'), observation);
  expect(JSON.parse((await trap.acs('conv', 'show', ID, '--json')).out)).toMatchObject({ status: 'finished' });
  expect(await trap.acs('conv', 'wait', ID)).toMatchObject({ code: 0 });
  expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 0, out: 'the answer' });
  trap.appEvents.push(userMessage('and this'));
  expect(JSON.parse((await trap.acs('conv', 'show', ID, '--json')).out)).toMatchObject({ status: 'archived' });
});
