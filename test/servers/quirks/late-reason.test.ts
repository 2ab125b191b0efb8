import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { event, ID, status, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});

afterEach(() => trap.close());

describe('conv follow', () => {
  const lines = (out: string): Record<string, unknown>[] =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('conv follow prints the reason of a failure from the sandbox, before the app server has it', async () => {
    trap.addConversation({ execution_status: 'error' });
    trap.agentEvents.push(
      userMessage('do it'),
      event('ConversationErrorEvent', { code: 'LLMAuthenticationError', detail: 'the model refuses the key' }),
      status('error'),
    );
    const { code, out } = await trap.acs('conv', 'follow', ID, '--json');
    expect(code).toBe(1);
    expect(lines(out).at(-1)).toMatchObject({
      reason: { code: 'LLMAuthenticationError', text: 'the model refuses the key' },
    });
  });
});
