import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import type { Reply } from '../support/fake-server.ts';
import { agentMessage, finish, ID, status, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
});

afterEach(() => trap.close());

const LATE = 'may be up to 30 s behind';
/** The sandbox drops every connection. */
const cutSandbox = (): void => {
  trap.before = ({ path }): Reply | null => (path.startsWith('/agent/') ? { cut: true } : null);
  trap.fake.acceptSocket = () => false;
};
const asleep = { sandbox_status: 'PAUSED', execution_status: null, conversation_url: null, session_api_key: null };

describe('conv result', () => {
  it('waits for an answer that reaches the app server late, when the sandbox does not answer', async () => {
    trap.appEvents.push(userMessage('do it'), status('running'));
    cutSandbox();
    const lateAtMs = trap.clock.now() + 20_000;
    const last = [finish('the answer'), status('finished')];
    const { before } = trap;
    trap.before = (asked) => {
      if (trap.clock.now() >= lateAtMs) trap.appEvents.push(...last.splice(0));
      return before(asked);
    };
    const { code, out, err } = await trap.acs('conv', 'result', ID);
    expect({ code, out }).toEqual({ code: 0, out: 'the answer' });
    expect(err).toContain(LATE);
  });

  it('prints no older answer for the newest message', async () => {
    trap.appEvents.push(userMessage('first'), finish('old answer'), userMessage('second'));
    trap.agentEvents.push(...trap.appEvents, agentMessage('new answer'));
    expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 0, out: 'new answer', err: '' });
    Object.assign(trap.conversations.get(ID)!, asleep);
    expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 5, out: '' });
  });
});

describe('the final answer', () => {
  it.each([
    ['what the agent finished with', finish('the answer'), 'the answer'],
    ['a message, where the model ends with a text', agentMessage('the answer'), 'the answer'],
  ])('is %s', async (_, last, answer) => {
    trap.agentEvents.push(userMessage('do it'), agentMessage('on my way'), last, status('finished'));
    expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 0, out: answer });
  });

  it('needs no route that only newer servers have', async () => {
    trap.agentEvents.push(userMessage('do it'), finish('the answer'));
    await trap.acs('conv', 'result', ID);
    expect(trap.fake.lines().some((line) => line.includes('agent_final_response'))).toBe(false);
  });
});
