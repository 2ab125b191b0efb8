/** The list of V0, which mixes the conversations of both dialects (interface section 3.2). */
import type { Context } from 'hono';
import { isRecord } from '../../../../protocol/shape.ts';
import { conversationListQuery } from '../../../../protocol/v0/requests.ts';
import type { ConversationFilter, ConversationRow } from '../../../storage/conversations.ts';
import { json, refuse } from '../../../http/answer.ts';
import { readQuery } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { conversationInfo } from '../../conversation-info.ts';
import { sandboxLookup } from '../../conversation-record.ts';

const MAX_LIMIT = 500;

/** How many of each dialect are on the pages so far; null: no more of it. */
interface Position {
  V0: number | null;
  V1: number | null;
}

/** Newest first. A page begins at the item after the last one of the page before. */
export function listConversations(context: AppContext, c: Context): Response {
  const query = readQuery(c, conversationListQuery);
  const filter: ConversationFilter = {
    topLevelOnly: !query.include_sub_conversations,
    ...(query.selected_repository === undefined ? {} : { repository: query.selected_repository }),
    ...(query.conversation_trigger === undefined ? {} : { trigger: query.conversation_trigger }),
  };
  const from = query.page_id === undefined ? { V0: 0, V1: 0 } : positionIn(query.page_id);
  const limit = Math.min(query.limit, MAX_LIMIT);
  const ahead = (['V0', 'V1'] as const).flatMap((dialect) => {
    const offset = from[dialect];
    return offset === null ? [] : context.store.conversations.page({ ...filter, dialect }, limit + 1, offset);
  });
  const rows = ahead.sort(byAge).slice(0, limit);
  const sandboxes = sandboxLookup(context);
  return json({
    results: rows.map((row) => conversationInfo(row, context, sandboxes)),
    next_page_id: ahead.length > limit ? pageId(from, rows, ahead.slice(limit)) : null,
  });
}

function byAge(one: ConversationRow, other: ConversationRow): number {
  return one.created_at < other.created_at ? 1 : one.created_at > other.created_at ? -1 : 0;
}

/** JSON in base64, as on genuine servers: the position in V0 is in base64 once more. */
function pageId(from: Position, shown: readonly ConversationRow[], left: readonly ConversationRow[]): string {
  const next = (dialect: 'V0' | 'V1'): number | null =>
    left.some((row) => row.dialect === dialect)
      ? (from[dialect] ?? 0) + shown.filter((row) => row.dialect === dialect).length
      : null;
  const [v0, v1] = [next('V0'), next('V1')];
  return inBase64(
    JSON.stringify({ v0: v0 === null ? null : inBase64(String(v0)), v1: v1 === null ? null : String(v1) }),
  );
}

function positionIn(given: string): Position {
  try {
    const position: unknown = JSON.parse(fromBase64(given));
    if (isRecord(position) && 'v0' in position && 'v1' in position) {
      const { v0, v1 } = position;
      return {
        V0: v0 === null ? null : offsetIn(fromBase64(String(v0))),
        V1: v1 === null ? null : offsetIn(String(v1)),
      };
    }
  } catch {
    // refused below
  }
  throw refuse(400, 'Invalid page_id');
}

function offsetIn(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new Error('not a position');
  return Number(text);
}

function inBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}
