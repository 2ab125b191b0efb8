/**
 * Stopping, deleting and pausing: answers that come after the step, ids that are not looked at
 * (interface 5.3, 7.4).
 */
import { describe, expect, it } from 'vitest';
import { NOT_FOUND, type Reply } from '../support/server.ts';
import { ID, status } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();

describe('conv stop', () => {
  /** As the agent server does it: the answer comes when the step in hand has ended. */
  const pauseAfterTheStep = async (stepMs: number): Promise<Reply> => {
    await at.clock.sleep(stepMs);
    at.v1.conversations.get(ID)!['execution_status'] = 'paused';
    at.v1.agentEvents.push(status('paused'));
    return { json: { success: true } };
  };

  it('waits for a step that takes longer than the request time-out, when the server cannot interrupt', async () => {
    at.v1.addConversation();
    at.script(({ method, path }) => {
      if (method !== 'POST') return null;
      return path.endsWith('/pause') ? pauseAfterTheStep(18_000) : NOT_FOUND;
    });
    await at.ends(`conv stop ${ID} --json`, { out: { status: 'paused', changed: true } });
    expect(at.server.lines().filter((line) => line.endsWith('/pause'))).toHaveLength(1);
  });

  it('interrupts the step when the server can', async () => {
    at.v1.addConversation();
    at.script(({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/interrupt')) return null;
      at.v1.conversations.get(ID)!['execution_status'] = 'paused';
      return { json: { success: true } };
    });
    await at.ends(`conv stop ${ID}`, {});
    expect(at.server.lines().some((line) => line.endsWith('/pause'))).toBe(false);
  });
});

it('conv stop names the missing address when the record of a running sandbox has none', async () => {
  at.v1.addConversation({ conversation_url: null, session_api_key: null });
  const { err } = await at.ends(`conv stop ${ID}`, {
    code: 6,
    err: 'the record of this conversation has no address of its agent server',
  });
  expect(err).not.toContain('does not run');
});
