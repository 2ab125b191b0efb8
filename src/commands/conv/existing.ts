/** Whether a conversation with a chosen id is there already, and whether it came from the same request. */
import type { Conversation } from '../../domain/conversation.ts';
import { eachEvent } from '../../domain/event.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { fullText } from './event-words.ts';

const EVENTS_LOOKED_AT = 50;

export async function findExisting(server: Server, id: string): Promise<Conversation | null> {
  try {
    const found = await server.conversations.get(id);
    return found.id === '' ? null : found;
  } catch (error) {
    if (isAppError(error) && error.kind === 'not-found') return null;
    throw error;
  }
}

/** By what can still be seen of the request: repository, branch and the first message. */
export async function isSameStart(server: Server, known: Conversation, request: NewConversation): Promise<boolean> {
  if (request.repository !== known.repository) return false;
  if (request.branch !== null && known.branch !== null && request.branch !== known.branch) return false;
  if (request.message === null) return true;
  const query = { order: 'oldest-first' as const, limit: EVENTS_LOOKED_AT };
  for await (const event of eachEvent(server.conversations.eventPages(known.id, query))) {
    if (event.signal === 'message') return fullText(event).trim() === request.message.trim();
  }
  return false;
}
