/**
 * Refuses a deletion over the route of V0 while the sandbox holds other conversations.
 *
 * Servers:  openhands-ai up to 1.5.0; whether a server does it is not known without a deletion
 * Symptom:  `conv delete` of one conversation deletes the sandbox with every other conversation in
 *           it.
 * Evidence: interface 13 "Deletion over the route of V0": run on 1.4.0, source of 1.5.0 and 1.6.0;
 *           test/client/quirks/deleted-neighbours.test.ts
 * Cost:     0 requests where V1 has the route (1.11.0); else 2 reads, and 1 for each further page
 *           of the list
 * Remove:   when servers before 1.6.0 are no longer supported
 */
import type { Conversation } from '../../../domain/conversation.ts';
import { AppError } from '../../../base/errors.ts';
import { normalId } from '../../../domain/ids.ts';
import type { Links } from '../../shared/links.ts';
import { allPages, byId } from '../../../domain/pages.ts';
import { getConversation, searchConversations } from '../calls.ts';
import { toConversation } from '../records.ts';

export async function refuseNeighbours(
  links: Links,
  id: string,
  alsoGone: (other: Conversation) => boolean,
): Promise<void> {
  const { sandbox_id: sandboxId } = await getConversation(links, id);
  if (sandboxId === null) return;
  const others: Conversation[] = [];
  for await (const record of allPages(byId, (page) =>
    searchConversations(links, { sandboxId }, page),
  )) {
    if (normalId(record.id) === normalId(id)) continue;
    const other = toConversation(links, record);
    if (!alsoGone(other)) others.push(other);
  }
  if (others.length === 0) return;
  throw new AppError(
    'conflict',
    `conversation ${id} was not deleted: this server may delete its sandbox ${sandboxId} ` +
      'with it, and that holds ' +
      `${others.length === 1 ? 'another conversation' : `${others.length} other conversations`}: ` +
      `${others.map((other) => `${other.id} (${other.status})`).join(', ')}`,
    {
      hint:
        'delete the sandbox and everything in it with --with-sandbox, or name all of its ' +
        'conversations',
      data: { sandbox_id: sandboxId, conversation_ids: others.map((other) => other.id) },
    },
  );
}
