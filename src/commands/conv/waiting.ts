/** Options and steps shared by the commands that wait for a run. */
import type { Context } from '../../context.ts';
import { blankConversation, type Conversation } from '../../domain/conversation.ts';
import { NO_EVIDENCE, outcomeOf, type TrackedRun } from '../../runs/outcome.ts';
import type { Server } from '../../servers/server.ts';
import { withinDeadline, type Limits, type TimedContext } from '../../runs/deadline.ts';
import { deadlinePassedBefore, deadlinePassedUnseen, NOT_READ } from '../../runs/endings.ts';
import type { AppError } from '../../errors.ts';
import { idOf } from './view.ts';

/**
 * What is done before the tracker starts, which keeps the deadline itself.
 * @param id of the conversation, or the word of the command line
 * @param work calls `see` with the conversation as it was read last
 * @throws `timeout` with the last status that was read
 */
export async function beforeWatch<T>(
  ctx: Context,
  limits: Limits,
  id: string,
  work: (timed: TimedContext, server: Server, see: (conversation: Conversation) => Conversation) => Promise<T>,
): Promise<T> {
  let seen = blankConversation(id, NOT_READ);
  return await withinDeadline(ctx, limits, async (timed) => {
    try {
      return await work(timed, await timed.server(), (conversation) => (seen = conversation));
    } catch (error) {
      if (!timed.deadline.isOver(error)) throw error;
      throw seen.status === NOT_READ
        ? deadlinePassedUnseen(seen, limits.waitMs)
        : deadlinePassedBefore(seen, limits.waitMs);
    }
  });
}

/** The outcome of a start that failed: there is no run to wait for. */
export function failedStart(conversation: Conversation): TrackedRun {
  return {
    outcome: {
      type: 'outcome',
      conversation_id: idOf(conversation),
      status: conversation.status,
      reason: conversation.reason,
      waiting_for: null,
      exit_code: 1,
      cost_usd: conversation.cost_usd,
      last_event_id: NO_EVIDENCE.last_event_id,
    },
    failure: null,
  };
}

/** The deadline came before there was a run to wait for, or before one could be read. */
export function unbegun(conversation: Conversation, failure: AppError): TrackedRun {
  const reason = { code: 'timeout', text: failure.message };
  return { outcome: outcomeOf(conversation, NO_EVIDENCE, failure.exitCode, reason), failure };
}

/**
 * Ends a command as the run it tracked: the code of the outcome, or the error that ended the wait. What was printed
 * is completed first, because an error drops an unfinished --output.
 */
export async function endAs(ctx: Context, { outcome, failure }: TrackedRun): Promise<void> {
  ctx.exitCode = outcome.exit_code;
  if (failure === null && outcome.status === 'waiting')
    await ctx.notice(`answer it: acs conv confirm ${outcome.conversation_id}`);
  if (failure === null) return;
  await ctx.out.close();
  throw failure;
}
