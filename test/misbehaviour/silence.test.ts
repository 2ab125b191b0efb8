import { describe, expect, it } from 'vitest';
import { agentMessage, ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();

describe('a run without events', () => {
  it('conv follow prints a notice after ten minutes without an event, with the last one', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('do it'), agentMessage('I begin'), status('running'));
    const { code, err } = await at.acs('conv', 'follow', ID, '--wait-timeout', '11m');
    expect(code).toBe(124);
    expect(err).toMatch(new RegExp(`no event of ${ID} for 10m; the last was: `));
  });

  it('conv follow --fail-on-stall exits 124 with the code no-events', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('do it'), status('running'));
    await at.ends(`conv follow ${ID} --fail-on-stall 2m --json`, {
      code: 124,
      out: /"code": ?"no-events"/,
    });
  });
});
