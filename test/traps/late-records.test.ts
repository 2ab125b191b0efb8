/** A record that shows the status of the run before for a while after a message was accepted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finish, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

/** Until when the record lags behind the accepted message, and until when its events do. */
const RECORD_LAGS_MS = 8_000;
const EVENTS_LAG_MS = 3_000;

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

/** A finished run; the message that is accepted begins one that ends with this status. */
function beginsWithMessage(newStatus: 'error' | 'never'): void {
  const record = trap.addConversation({ execution_status: 'finished' });
  trap.agentState['execution_status'] = 'finished';
  trap.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
  let sentAtMs: number | null = null;
  const late = [userMessage('second'), status('running'), finish('second answer'), status('error')];
  trap.before = ({ method, path }) => {
    if (method === 'POST' && path.endsWith('/send-message')) {
      sentAtMs = trap.clock.now();
      // The client reads from it that the server starts the run itself.
      trap.agentState['execution_status'] = 'running';
      return { json: { success: true } };
    }
    if (sentAtMs === null || newStatus === 'never') return null;
    const passedMs = trap.clock.now() - sentAtMs;
    if (passedMs >= EVENTS_LAG_MS) trap.agentEvents.push(...late.splice(0, passedMs >= RECORD_LAGS_MS ? 4 : 2));
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
      const { code, out, err } = await trap.acs('conv', 'send', ID, 'second', flag, '--json');
      expect({ code, outcome: outcomeOf(out) }, err).toMatchObject({ code: 1, outcome: { status: 'failed' } });
      expect(out + err).not.toMatch(/finished"|: finished|first answer/);
    },
  );

  it('--wait prints no status of the previous run as progress', async () => {
    beginsWithMessage('error');
    const { code, err } = await trap.acs('conv', 'send', ID, 'second', '--wait');
    expect(code, err).toBe(1);
    expect(err).not.toContain('finished');
  });

  it('--wait ends with 124 and without a status where the deadline comes before the run shows', async () => {
    beginsWithMessage('never');
    const { code, out, err } = await trap.acs(
      'conv',
      'send',
      ID,
      'second',
      '--wait',
      '--wait-timeout',
      '20s',
      '--json',
    );
    expect({ code, outcome: outcomeOf(out) }, err).toMatchObject({
      code: 124,
      outcome: { status: 'unknown(not-read)', exit_code: 124 },
    });
    expect(out + err).not.toContain('finished');
  });
});

describe('a record that is older than its events', () => {
  it('conv wait exits with the outcome of the newest run, however long the record shows the run before', async () => {
    const record = trap.addConversation({ execution_status: 'finished' });
    trap.agentState['execution_status'] = 'running';
    trap.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
    trap.agentEvents.push(userMessage('second'), status('running'));
    const beganAtMs = trap.clock.now();
    const late = [finish('second answer'), status('error')];
    trap.before = () => {
      if (trap.clock.now() - beganAtMs < RECORD_LAGS_MS) return null;
      trap.agentEvents.push(...late.splice(0));
      trap.agentState['execution_status'] = record['execution_status'] = 'error';
      return null;
    };
    const { code, out, err } = await trap.acs('conv', 'wait', ID, '--json');
    expect({ code, outcome: JSON.parse(out) as unknown }, err).toMatchObject({
      code: 1,
      outcome: { status: 'failed' },
    });
  });

  it('conv wait exits 124 at its deadline while the sandbox reports that the newest run is running', async () => {
    trap.addConversation({ execution_status: 'finished' });
    trap.agentState['execution_status'] = 'running';
    trap.agentEvents.push(userMessage('first'), finish('first answer'), status('finished'));
    trap.agentEvents.push(userMessage('second'), status('running'));
    // Shorter than the time after which the record is read again.
    const { code, out, err } = await trap.acs('conv', 'wait', ID, '--wait-timeout', '1s', '--json');
    expect({ code, outcome: outcomeOf(out) }, err).toMatchObject({ code: 124, outcome: { exit_code: 124 } });
    expect(out).not.toContain('finished');
  });

  it('conv wait accepts the end in a record that the sandbox confirms without an event', async () => {
    trap.addConversation({ execution_status: 'finished' });
    trap.agentState['execution_status'] = 'finished';
    trap.agentEvents.push(userMessage('first'), status('running'), finish('first answer'));
    const { code, err } = await trap.acs('conv', 'wait', ID);
    expect(code, err).toBe(0);
  });
});
