/** A record that shows the status of the run before for a while after a message was accepted. */
import { describe, expect, it } from 'vitest';
import { finish, ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

/** Until when the record lags behind the accepted message, and until when its events do. */
const RECORD_LAGS_MS = 8_000;
const EVENTS_LAG_MS = 3_000;

const at = useIdleV1();

/** A finished run; the message that is accepted begins one that ends with this status. */
function beginsWithMessage(newStatus: 'error' | 'never'): void {
  const record = at.v1.addConversation({ execution_status: 'finished' });
  at.v1.agentState['execution_status'] = 'finished';
  at.v1.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
  let sentAtMs: number | null = null;
  const late = [userMessage('second'), status('running'), finish('second answer'), status('error')];
  at.v1.before = ({ method, path }) => {
    if (method === 'POST' && path.endsWith('/send-message')) {
      sentAtMs = at.clock.now();
      // The client reads from it that the server starts the run itself.
      at.v1.agentState['execution_status'] = 'running';
      return { json: { success: true } };
    }
    if (sentAtMs === null || newStatus === 'never') return null;
    const passedMs = at.clock.now() - sentAtMs;
    if (passedMs >= EVENTS_LAG_MS)
      at.v1.agentEvents.push(...late.splice(0, passedMs >= RECORD_LAGS_MS ? 4 : 2));
    if (passedMs >= RECORD_LAGS_MS) record['execution_status'] = newStatus;
    return null;
  };
}

const outcomeOf = (out: string): Record<string, unknown> =>
  JSON.parse(out.slice(out.lastIndexOf('\n{') + 1)) as Record<string, unknown>;

describe('conv send', () => {
  it.each(['--wait', '--follow'])(
    '%s prints the status and the outcome of the run that the message begins',
    async (flag) => {
      beginsWithMessage('error');
      const { out, err } = await at.ends(`conv send ${ID} second ${flag} --json`, { code: 1 });
      expect(outcomeOf(out)).toMatchObject({ status: 'failed' });
      expect(out + err).not.toMatch(/finished"|: finished|first answer/);
    },
  );

  it('--wait prints no status of the previous run as progress', async () => {
    beginsWithMessage('error');
    const { err } = await at.ends(`conv send ${ID} second --wait`, { code: 1 });
    expect(err).not.toContain('finished');
  });

  it('--wait ends with 124 and without a status where the deadline comes before the run shows', async () => {
    beginsWithMessage('never');
    const { out, err } = await at.ends(`conv send ${ID} second --wait --wait-timeout 20s --json`, {
      code: 124,
    });
    expect(outcomeOf(out)).toMatchObject({ status: 'unknown(not-read)', exit_code: 124 });
    expect(out + err).not.toContain('finished');
  });
});

describe('a record that is older than its events', () => {
  it('conv wait exits with the outcome of the newest run, however long the record shows the run before', async () => {
    const record = at.v1.addConversation({ execution_status: 'finished' });
    at.v1.agentState['execution_status'] = 'running';
    at.v1.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
    at.v1.agentEvents.push(userMessage('second'), status('running'));
    const beganAtMs = at.clock.now();
    const late = [finish('second answer'), status('error')];
    at.v1.before = () => {
      if (at.clock.now() - beganAtMs < RECORD_LAGS_MS) return null;
      at.v1.agentEvents.push(...late.splice(0));
      at.v1.agentState['execution_status'] = record['execution_status'] = 'error';
      return null;
    };
    const { code, out, err } = await at.acs('conv', 'wait', ID, '--json');
    expect({ code, outcome: JSON.parse(out) as unknown }, err).toMatchObject({
      code: 1,
      outcome: { status: 'failed' },
    });
  });

  it('conv wait exits 124 at its deadline while the sandbox reports that the newest run is running', async () => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.agentState['execution_status'] = 'running';
    at.v1.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
    at.v1.agentEvents.push(userMessage('second'), status('running'));
    // Shorter than the time after which the record is read again.
    const { out } = await at.ends(`conv wait ${ID} --wait-timeout 1s --json`, { code: 124 });
    expect(outcomeOf(out)).toMatchObject({ exit_code: 124 });
    expect(out).not.toContain('finished');
  });

  it('conv wait accepts the end in a record that the sandbox confirms without an event', async () => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.agentState['execution_status'] = 'finished';
    at.v1.agentEvents.push(userMessage('first'), status('running'), finish('first answer'));
    await at.ends(`conv wait ${ID}`, {});
  });
});
