/** `conv new --title`: the rename that follows the start, and what its failure means for a conversation that runs. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { TimeLimit } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';

export interface StartLimit extends TimeLimit {
  /** As it was given, for messages. */
  given: string;
  leftMs(): number;
}

interface NamedStart {
  title: string;
  limit: StartLimit;
  /** The command watches the run after the start. */
  isWatched: boolean;
}

/** Servers ignore a title given at creation. */
export async function named(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { title, limit, isWatched }: NamedStart,
): Promise<Conversation> {
  try {
    const { title: given } = await server.conversations.rename(conversation.id, title.trim());
    if (given !== title.trim()) throw titleDiffers(conversation.id, title.trim(), given);
    return { ...conversation, title: given };
  } catch (error) {
    if (isAppError(error) && error.details.data?.['requested'] !== undefined) throw error;
    if (!isAppError(error)) throw error;
    const isOver = error === limit.signal.reason;
    // The watch that follows ends with the state of the run, and stops it where that was asked for.
    if (isOver && !isWatched) throw renameUnanswered(conversation.id, limit.given);
    const why = isOver ? `the server did not answer within ${limit.given}` : error.message;
    await ctx.warn(
      `the conversation has started, but could not be named: ${why}; to do so later: acs conv rename ${conversation.id} <title>`,
    );
    return conversation;
  }
}

function renameUnanswered(id: string, given: string): AppError {
  const message = `conversation ${id} has started, but the server did not answer its rename within ${given}`;
  return new AppError('timeout', message, {
    hint: `look: acs conv show ${id}   name it: acs conv rename ${id} <title>   stop it: acs conv stop ${id}`,
    data: { reason: 'timeout', conversation_id: id },
  });
}

function titleDiffers(id: string, requested: string, received: string | null): AppError {
  const message = `the server ignored --title ${JSON.stringify(requested)}: the conversation is called ${JSON.stringify(received)}`;
  return new AppError('server', message, {
    hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
    data: { conversation_id: id, requested, received },
  });
}
