/** A state that was just read is not read again before a pause: requests are counted. */
import { describe, expect, it } from 'vitest';
import { ID, OTHER_ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const RECORD = 'GET /api/v1/app-conversations';
const TASK = 'GET /api/v1/app-conversations/start-tasks';

const at = useIdleV1();
const sent = (line: string): number => at.server.lines().filter((one) => one === line).length;

describe('the requests while a state is not known yet', () => {
  it('conv show reads a record without a status once more after a pause, and not before it', async () => {
    const record = at.v1.addConversation({ execution_status: null });
    const { before } = at.v1;
    let firstMs: number | null = null;
    at.v1.before = (asked) => {
      if (`${asked.method} ${asked.path}` === RECORD) {
        firstMs ??= at.clock.now();
        if (at.clock.now() - firstMs >= 150) record['execution_status'] = 'running';
      }
      return before(asked);
    };
    await at.ends(`conv show ${ID} --json`, { out: { status: 'running' } });
    // One read finds it, and one comes after the pause.
    expect(sent(RECORD)).toBe(2);
  });

  it('conv wait reads a start task that is worked at once more after a pause, and not before it', async () => {
    const task = {
      id: OTHER_ID,
      status: 'WORKING',
      detail: null,
      app_conversation_id: null,
      sandbox_id: null,
    };
    const times = { created_at: new Date(at.clock.now()).toISOString(), updated_at: null };
    const record = { ...task, ...times, request: {} };
    at.v1.tasks.set(OTHER_ID, record);
    at.v1.agentEvents.push(userMessage('do it'), status('finished'));
    const { before } = at.v1;
    let firstMs: number | null = null;
    at.v1.before = (asked) => {
      if (`${asked.method} ${asked.path}` === TASK) {
        firstMs ??= at.clock.now();
        if (at.clock.now() - firstMs >= 150) {
          Object.assign(record, { status: 'READY', app_conversation_id: ID });
          at.v1.addConversation({ execution_status: 'finished' });
        }
      }
      return before(asked);
    };
    await at.ends(`conv wait ${OTHER_ID} --json`, {});
    expect(sent(TASK)).toBe(2);
  });
});
