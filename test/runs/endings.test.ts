import { blankConversation } from '../../src/domain/conversation.ts';
import { describe, expect, it } from 'vitest';
import { deadlinePassed, interruption } from '../../src/runs/endings.ts';
import { AppError } from '../../src/errors.ts';

const ID = '0123456789abcdef0123456789abcdef';

describe('a command that leaves a run', () => {
  it.each([
    ['running', 'goes on', `stop it: acs conv stop ${ID}`],
    ['waiting', 'stays so', `answer it: acs conv confirm ${ID}`],
  ] as const)('that is %s prints that it %s, and the next command', (status, future, end) => {
    const conversation = blankConversation(ID, status);
    const signal = new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 });
    for (const { message, details } of [deadlinePassed(conversation, 60_000), interruption(signal, ID, conversation)]) {
      expect(message).toContain(future);
      expect(details.hint).toBe(`watch it: acs conv follow ${ID}   ${end}`);
    }
  });

  it('whose id is unknown prints the command that finds and stops it', () => {
    const { exitCode, details } = interruption(new AppError('interrupted', 'x', { exitCode: 143 }), ID, null);
    expect([exitCode, details.hint]).toEqual([143, expect.stringContaining(`stop it: acs conv stop ${ID}`)]);
  });
});
