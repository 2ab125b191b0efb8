/** A state that was just read is not read again before a pause: requests are counted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ID, OTHER_ID, status, userMessage } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

const RECORD = 'GET /api/v1/app-conversations';
const TASK = 'GET /api/v1/app-conversations/start-tasks';

let trap: V1Trap;
beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

const sent = (line: string): number => trap.fake.lines().filter((one) => one === line).length;

describe('the requests while a state is not known yet', () => {
  it('conv show reads a record without a status once more after a pause, and not before it', async () => {
    const record = trap.addConversation({ execution_status: null });
    const { before } = trap;
    let firstMs: number | null = null;
    trap.before = (asked) => {
      if (`${asked.method} ${asked.path}` === RECORD) {
        firstMs ??= trap.clock.now();
        if (trap.clock.now() - firstMs >= 150) record['execution_status'] = 'running';
      }
      return before(asked);
    };
    const { code, out, err } = await trap.acs('conv', 'show', ID, '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'running' });
    // One read finds it, one reads it for the run, and one comes after the pause.
    expect(sent(RECORD)).toBe(3);
  });

  it('conv wait reads a start task that is worked at once more after a pause, and not before it', async () => {
    const task = { id: OTHER_ID, status: 'WORKING', detail: null, app_conversation_id: null, sandbox_id: null };
    const times = { created_at: new Date(trap.clock.now()).toISOString(), updated_at: null };
    const record = { ...task, ...times, request: {} };
    trap.tasks.set(OTHER_ID, record);
    trap.agentEvents.push(userMessage('do it'), status('finished'));
    const { before } = trap;
    let firstMs: number | null = null;
    trap.before = (asked) => {
      if (`${asked.method} ${asked.path}` === TASK) {
        firstMs ??= trap.clock.now();
        if (trap.clock.now() - firstMs >= 150) {
          Object.assign(record, { status: 'READY', app_conversation_id: ID });
          trap.addConversation({ execution_status: 'finished' });
        }
      }
      return before(asked);
    };
    const { code, err } = await trap.acs('conv', 'wait', OTHER_ID, '--json');
    expect(code, err).toBe(0);
    expect(sent(TASK)).toBe(2);
  });
});
