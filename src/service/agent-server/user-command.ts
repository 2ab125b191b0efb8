/** A command that the user runs in a conversation beside the agent, as V0 takes one: it stands in the log as theirs. */
import { randomUUID } from 'node:crypto';
import type { Conversation } from './conversation.ts';
import { action, newCallId, TOOL_NAMES } from './events.ts';
import type { Sandbox } from './sandbox.ts';
import { carryOut } from './tools.ts';

/** Writes the action and carries it out in the background; what it observed is written when it has ended. */
export function runForUser(conversation: Conversation, sandbox: Sandbox, command: string): void {
  const step = { type: 'terminal', command, is_input: false, reset: false, thought: '' } as const;
  const cause = { tool_name: TOOL_NAMES.terminal, tool_call_id: newCallId(), action_id: randomUUID() };
  const source = 'user';
  conversation.record([{ ...action(step, cause.tool_call_id), id: cause.action_id, source }]);
  const { id, secrets, state } = conversation;
  const signal = new AbortController().signal;
  carryOut(step, cause, { sandbox, conversationId: id, workingDir: state.working_dir, secrets, signal })
    .then((observation) => {
      if (observation !== null) conversation.record([{ ...observation, source }]);
    })
    // The conversation was deleted meanwhile, or the worker ends: nobody is left to be told. Or its log takes nothing more,
    // which the agent's run tells; the command then stands there without what it observed.
    .catch(() => undefined);
}
