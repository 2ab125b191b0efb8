/** Stopping, deleting and pausing: answers that come after the step, ids that are not looked at (interface 5.3, 7.4). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, type Reply } from '../servers/support/fake-server.ts';
import { ID, status } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

describe('conv stop', () => {
  /** As the agent server does it: the answer comes when the step in hand has ended. */
  const pauseAfterTheStep = async (stepMs: number): Promise<Reply> => {
    await trap.clock.sleep(stepMs);
    trap.conversations.get(ID)!['execution_status'] = 'paused';
    trap.agentEvents.push(status('paused'));
    return { json: { success: true } };
  };

  it('waits for a step that takes longer than the request time-out, when the server cannot interrupt', async () => {
    trap.addConversation();
    trap.fake.handler = after(trap.fake.handler, ({ method, path }) => {
      if (method !== 'POST') return null;
      return path.endsWith('/pause') ? pauseAfterTheStep(18_000) : NOT_FOUND;
    });
    const { code, out, err } = await trap.acs('conv', 'stop', ID, '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'paused', changed: true });
    expect(trap.fake.lines().filter((line) => line.endsWith('/pause'))).toHaveLength(1);
  });

  it('interrupts the step when the server can', async () => {
    trap.addConversation();
    trap.fake.handler = after(trap.fake.handler, ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/interrupt')) return null;
      trap.conversations.get(ID)!['execution_status'] = 'paused';
      return { json: { success: true } };
    });
    expect(await trap.acs('conv', 'stop', ID)).toMatchObject({ code: 0 });
    expect(trap.fake.lines().some((line) => line.endsWith('/pause'))).toBe(false);
  });
});

it('conv stop names the missing address when the record of a running sandbox has none', async () => {
  trap.addConversation({ conversation_url: null, session_api_key: null });
  const { code, err } = await trap.acs('conv', 'stop', ID);
  expect(code).toBe(6);
  expect(err).toContain('the record of this conversation has no address of its agent server');
  expect(err).not.toContain('does not run');
});

type Answering = (asked: Parameters<V1Trap['fake']['handler']>[0]) => Reply | Promise<Reply> | null;

function after(usual: V1Trap['fake']['handler'], special: Answering): V1Trap['fake']['handler'] {
  return (asked) => special(asked) ?? usual(asked);
}
