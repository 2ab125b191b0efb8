/** `conv new --title`: the rename that follows the start, and what its failure means for a conversation that runs. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { isPassing, type TimeLimit } from '../../runs/deadline.ts';
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

/**
 * Servers ignore a title given at creation.
 * @returns the conversation; with its old title, after a warning, where the server fails for the moment
 * @throws AppError that names the conversation, which continues: the server has another title, refuses this one, cannot
 * rename, or the command was interrupted
 */
export async function named(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { title, limit, isWatched }: NamedStart,
): Promise<Conversation> {
  const { id } = conversation;
  const wanted = title.trim();
  let given: string | null;
  try {
    given = (await server.conversations.rename(id, wanted)).title;
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    const isOver = error === limit.signal.reason;
    // The watch that follows ends with the state of the run, and stops it where that was asked for.
    if (isOver && !isWatched) throw renameUnanswered(id, limit.given);
    if (!isOver && !isPassing(error)) throw notRenamed(id, error);
    const why = isOver ? `the server did not answer within ${limit.given}` : error.message;
    await ctx.warn(
      `conversation ${id} has started, but could not be named: ${why}; to do so later: acs conv rename ${id} <title>`,
    );
    return conversation;
  }
  if (given !== wanted) throw titleDiffers(id, wanted, given);
  return { ...conversation, title: given };
}

function renameUnanswered(id: string, given: string): AppError {
  const message = `conversation ${id} has started, but the server did not answer its rename within ${given}`;
  return new AppError('timeout', message, {
    hint: `look: acs conv show ${id}   name it: acs conv rename ${id} <title>   stop it: acs conv stop ${id}`,
    data: { reason: 'timeout', conversation_id: id },
  });
}

/** The server refuses the rename, or has no route for it. */
function notRenamed(id: string, error: AppError): AppError {
  return new AppError(error.kind, `conversation ${id} has started, but --title was not set: ${error.message}`, {
    ...error.details,
    hint: runsAs(id),
    data: { ...error.details.data, conversation_id: id },
  });
}

function titleDiffers(id: string, requested: string, received: string | null): AppError {
  const message = `the server ignored --title ${JSON.stringify(requested)}: the conversation is called ${JSON.stringify(received)}`;
  return new AppError('server', message, {
    hint: runsAs(id),
    data: { conversation_id: id, requested, received },
  });
}

function runsAs(id: string): string {
  return `it runs as ${id}; stop it: acs conv stop ${id}`;
}
