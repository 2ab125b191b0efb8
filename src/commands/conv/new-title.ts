/** `conv new --title`: the rename that follows the start, and what its failure means for a conversation that runs. */
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { isPassing, type TimeLimit } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';

export interface StartLimit extends TimeLimit {
  /** As it was given, for messages. */
  given: string;
  leftMs(): number;
}

/**
 * Servers ignore a title given at creation.
 * @returns the conversation as the server has renamed it
 * @throws AppError that names the conversation, which continues, where the server does not show this title
 */
export async function named(
  server: Server,
  conversation: Conversation,
  title: string,
  limit: StartLimit,
): Promise<Conversation> {
  const { id } = conversation;
  const wanted = title.trim();
  let given: string | null;
  try {
    given = (await server.conversations.rename(id, wanted)).title;
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    throw error === limit.signal.reason ? renameUnanswered(id, limit.given) : notRenamed(id, error);
  }
  if (given !== wanted) throw titleDiffers(id, wanted, given);
  return { ...conversation, title: given };
}

function renameUnanswered(id: string, given: string): AppError {
  const message = `conversation ${id} has started, but the server did not answer its rename within ${given}`;
  return new AppError('timeout', message, {
    hint: `look: acs conv show ${id}   ${nameLater(id)}`,
    data: { reason: 'timeout', conversation_id: id },
  });
}

/** The server refuses the rename, has no route for it, or fails. */
function notRenamed(id: string, error: AppError): AppError {
  return new AppError(error.kind, `conversation ${id} has started, but --title was not set: ${error.message}`, {
    ...error.details,
    // The same command would start another run.
    retryable: false,
    hint: isPassing(error) ? `it continues; ${nameLater(id)}` : runsAs(id),
    data: { ...error.details.data, conversation_id: id },
  });
}

function nameLater(id: string): string {
  return `name it: acs conv rename ${id} <title>   stop it: acs conv stop ${id}`;
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
