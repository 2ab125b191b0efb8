/** `--id`: an id of the caller's choice, and the conversation that has it already. */
import type { Conversation } from '../../domain/conversation.ts';
import { eachEvent } from '../../domain/event.ts';
import { normalizeId } from '../../domain/ids.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { AppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { fullText } from '../../domain/event-words.ts';

const EVENTS_LOOKED_AT = 50;

/** Throws `usage`. All digits break servers that keep ids in SQLite (interface 4.1). */
export function readChosenId(text: string): string {
  const id = normalizeId(text);
  if (id === null || /^\d+$/.test(id)) {
    throw new AppError('usage', `--id: "${text.slice(0, 100)}" is not a valid id`, {
      hint: 'give a UUID (32 hexadecimal digits) that is not all digits 0 to 9, such as that of uuidgen',
    });
  }
  return id;
}

export async function findExisting(server: Server, id: string): Promise<Conversation | null> {
  try {
    const found = await server.conversations.get(id);
    return found.id === '' ? null : found;
  } catch (error) {
    if (isNotFound(error)) return null;
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
