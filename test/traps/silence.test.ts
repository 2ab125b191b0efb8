import { afterEach, describe, expect, it } from 'vitest';
import { agentMessage, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

afterEach(() => trap.close());

describe('a run without events', () => {
  it('conv wait prints a notice after ten minutes without an event, with the last one', async () => {
    trap = await v1Trap('1.11.0', 300);
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), agentMessage('I begin'), status('running'));
    const { code, err } = await trap.acs('conv', 'follow', ID, '--wait-timeout', '11m');
    expect(code).toBe(124);
    expect(err).toMatch(new RegExp(`no event of ${ID} for 10m; the last was: `));
  });

  it('--no-events-timeout exits 124 with the code no-events', async () => {
    trap = await v1Trap('1.11.0', 300);
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), status('running'));
    for (const verb of ['follow', 'wait']) {
      const { code, out } = await trap.acs('conv', verb, ID, '--fail-on-stall', '2m', '--json');
      expect(code).toBe(124);
      expect(out).toMatch(/"code": ?"no-events"/);
    }
  });
});
