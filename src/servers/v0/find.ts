/** Conversations of V0 by list and by id (interface 3.2, 3.3). */
import type { Conversation } from '../../domain/conversation.ts';
import type { Page } from '../../domain/pages.ts';
import { parseTime } from '../../text/time.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { listOwnV0 } from '../quirks/mixed-list-v0.ts';
import type { ListQuery } from '../server.ts';
import { getConversationV0, listConversationsV0, otherDialect } from './calls.ts';
import { readNews } from './news.ts';
import { newsOfRecord, toConversationV0 } from './records.ts';

/** Interface 3.2: they are left out after paging, so no page shows that something is missing. */
const OLD_ONES_HIDDEN =
  'V0 conversations older than ten days may be missing: this server does not list them; acs conv show <id> finds them';

export async function listV0(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  query: ListQuery,
  page: string | null,
): Promise<Page<Conversation>> {
  const list = facts.dialects.includes('v1') ? listOwnV0 : listConversationsV0;
  const { items, next } = await list(links, query.pageSize ?? 100, page);
  if (next === null && query.omissions === 'say' && facts.features['old-v0-conversations'] !== 'present')
    links.notice(OLD_ONES_HIDDEN);
  const conversations = items.map((info) => toConversationV0(info, newsOfRecord(info), webUrl));
  return { items: conversations.filter((one) => matches(one, query)), next };
}

/** V0 has no such filters; they are applied here, so a page may be short. */
function matches(conversation: Conversation, query: ListQuery): boolean {
  const { titleContains, createdAfter, createdBefore, sandboxId } = query;
  const created = parseTime(conversation.created_at);
  if (titleContains !== undefined && !(conversation.title ?? '').toLowerCase().includes(titleContains.toLowerCase()))
    return false;
  if (createdAfter !== undefined && (created ?? -Infinity) < (parseTime(createdAfter) ?? -Infinity)) return false;
  if (createdBefore !== undefined && (created ?? Infinity) >= (parseTime(createdBefore) ?? Infinity)) return false;
  return sandboxId === undefined || conversation.sandbox_id === sandboxId;
}

export async function findV0(links: Links, facts: ProbeFacts, webUrl: WebUrl, id: string): Promise<Conversation> {
  const info = await getConversationV0(links, id);
  // The route of V0 returns the record of a V1 conversation too; its other routes refuse such an id.
  if (info.conversation_version === 'V1' && facts.dialects.includes('v1')) throw otherDialect(id);
  return toConversationV0(info, await readNews(links, info), webUrl);
}
