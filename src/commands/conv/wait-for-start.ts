import { knownId, type Conversation } from '../../domain/conversation.ts';
import { isAppError } from '../../errors.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import { deadlinePassed, interruption } from '../../runs/endings.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import { idOf } from './view.ts';

/** Waits until a conversation that is being started has an id, or its start has failed. */
export async function waitForStart(
  ctx: TimedContext,
  server: Server,
  conversation: Conversation,
): Promise<Conversation> {
  const { clock, signal } = ctx;
  if (!isOnlyTask(conversation)) return conversation;
  let current = conversation;
  const started = async (): Promise<Conversation | undefined> => {
    current = await server.conversations.get(idOf(current));
    return isOnlyTask(current) ? undefined : current;
  };
  try {
    return await poll(started, { clock, signal, every: STEADY, readBefore: true });
  } catch (error) {
    const named = { ...current, id: knownId(current) ?? idOf(current) };
    if (ctx.deadline.isOver(error)) throw deadlinePassed(named, ctx.deadline.waitMs);
    throw isAppError(error) && error.kind === 'interrupted' ? interruption(error, named) : error;
  }
}

function isOnlyTask({ id, status }: Conversation): boolean {
  return id === '' && status === 'starting';
}
