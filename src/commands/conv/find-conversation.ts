/** How a verb finds the conversation that it is about. */
import type { Context } from '../context.ts';
import { AppError, isOfKind } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { blankConversation, knownId, type Conversation } from '../../domain/conversation.ts';
import type { Limits } from '../../runs/deadline.ts';
import {
  deadlinePassed,
  deadlinePassedUnanswered,
  interruption,
  NOT_READ,
  NO_EVENTS,
  outcomeOf,
  type TrackedRun,
} from '../../runs/outcome.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { withinDeadline, type TimedContext } from '../shared/derived-context.ts';
import { checkWord, findOne } from '../shared/resource.ts';
import { conversations, idOrTaskId } from './conversations.ts';

/** Throws `conflict` while the conversation is being started, `failed` when that failed. */
export async function findStarted(
  ctx: Context,
  server: Server,
  word: string,
): Promise<Conversation> {
  const conversation = await findOne(ctx, server, conversations, word);
  refuseUnstarted(conversation, word);
  return conversation;
}

/** Throws `usage` before a request, and as findStarted. */
export async function openConversation(
  ctx: Context,
  word: string,
): Promise<{ server: Server; conversation: Conversation }> {
  checkWord(conversations, word);
  const server = await ctx.servers.active();
  return { server, conversation: await findStarted(ctx, server, word) };
}

export function refuseUnstarted(conversation: Conversation, word: string): void {
  if (conversation.id !== '') return;
  const { status, reason } = conversation;
  const task = conversation.start_task_id ?? word;
  if (status === 'failed')
    throw new AppError(
      'failed',
      `start task ${task} failed: ${reason?.text ?? 'no reason is known'}`,
    );
  throw new AppError('conflict', `start task ${task} has not started its conversation yet`, {
    hint: `wait for it: acs conv wait ${task}`,
    retryable: true,
  });
}

/** The conversation once it has started; without an id when its start has failed. */
export async function findForFollow(
  ctx: Context,
  limits: Limits,
  given: string,
): Promise<Conversation> {
  return await beforeWatch(ctx, limits, given, async (timed, server, see) =>
    waitForStart(timed, server, see(await findOne(timed, server, conversations, given))),
  );
}

/** The tracker keeps the deadline later. Throws `timeout` with the last status. */
export async function beforeWatch<T>(
  ctx: Context,
  limits: Limits,
  id: string,
  work: (
    timed: TimedContext,
    server: Server,
    see: (conversation: Conversation) => Conversation,
  ) => Promise<T>,
): Promise<T> {
  let seen = blankConversation(id, NOT_READ);
  return await withinDeadline(ctx, limits, async (timed) => {
    try {
      return await work(
        timed,
        await timed.servers.active(),
        (conversation) => (seen = conversation),
      );
    } catch (error) {
      if (!timed.deadline.isOver(error)) throw error;
      throw (seen.status === NOT_READ ? deadlinePassedUnanswered : deadlinePassed)(
        seen,
        limits.waitMs,
      );
    }
  });
}

/** The conversation once it has an id; without one when its start has failed. */
export async function waitForStart(
  ctx: TimedContext,
  server: Server,
  found: Conversation,
): Promise<Conversation> {
  const { clock, signal, deadline } = ctx;
  const isOnlyTask = ({ id, status }: Conversation): boolean => id === '' && status === 'starting';
  if (!isOnlyTask(found)) return found;
  let current = found;
  const started = async (): Promise<Conversation | undefined> => {
    current = await server.conversations.get(idOrTaskId(current));
    return isOnlyTask(current) ? undefined : current;
  };
  try {
    return await poll(started, { clock, signal, every: STEADY, readBefore: true });
  } catch (error) {
    const named = withKnownId(current);
    if (deadline.isOver(error)) throw deadlinePassed(named, deadline.waitMs);
    throw isOfKind('interrupted')(error) ? interruption(error, named) : error;
  }
}

export function withKnownId(conversation: Conversation): Conversation {
  return { ...conversation, id: knownId(conversation) ?? idOrTaskId(conversation) };
}

export function failedStart(conversation: Conversation): TrackedRun {
  const named = { ...conversation, id: idOrTaskId(conversation), waiting_for: null };
  return { outcome: outcomeOf(named, NO_EVENTS, 1, conversation.reason), failure: null };
}
