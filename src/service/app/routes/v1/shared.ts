/**
 * Reading without a key what its user made public (interface section 4.5). What is not public answers exactly as what
 * is not there, so that nobody learns of it by asking.
 */
import type { Context } from 'hono';
import { record, uuid } from '../../../../protocol/detail.ts';
import { eventCountQuery, eventSearchQuery } from '../../../../protocol/v1/requests.ts';
import type { EventFilter } from '../../../storage/event-log.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { json, pathId, readQuery } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { sharedConversationRecord } from '../../conversation-record.ts';
import { idsOf } from './conversations.ts';
import { eventIdsOf, filterOf, searchEvents, type ReadLog } from './events.ts';
import { findConversation } from './known.ts';
import type { Route } from '../../route.ts';

/** How the agent is set up is nobody else's matter: it names places and settings of this machine. */
const HIDDEN = 'ConversationStateUpdateEvent';

const whose = { conversation_id: uuid() };
const batchQuery = record(whose);
const countQuery = record({ ...eventCountQuery.entries, ...whose });
const searchQuery = record({ ...eventSearchQuery.entries, ...whose });

export function sharedRoutes(context: AppContext): Route[] {
  const open = (path: string, handle: (c: Context) => Response): Route => ({
    method: 'GET',
    path: `/api${path}`,
    isOpen: true,
    handle,
  });
  const reader = (id: string): ReadLog => {
    const row = publicConversation(context, id);
    return (work) => (row === null ? null : context.logs.read(row, work));
  };
  const visible = (conversationId: string, eventIds: string[]): unknown[] => {
    const found = reader(conversationId)((log) => log.get(eventIds)) ?? eventIds.map(() => null);
    return found.map((event) => (event?.kind === HIDDEN ? null : event));
  };
  return [
    open('/shared-conversations', (c) => {
      const rows = idsOf(c).map((id) => publicConversation(context, id));
      return json(rows.map((row) => (row === null ? null : sharedConversationRecord(row, context))));
    }),
    open('/shared-events/search', (c) => {
      const query = readQuery(c, searchQuery);
      return searchEvents(reader(query.conversation_id), query, visibleOf(query));
    }),
    open('/shared-events/count', (c) => {
      const query = readQuery(c, countQuery);
      return json(reader(query.conversation_id)((log) => log.count(visibleOf(query))) ?? 0);
    }),
    open('/shared-events', (c) => json(visible(readQuery(c, batchQuery).conversation_id, eventIdsOf(c)))),
    open('/shared-events/{conversation_id}/{event_id}', (c) => {
      pathId(c, 'event_id');
      const [event] = visible(pathId(c), [c.req.param('event_id') ?? '']);
      return json(event ?? null);
    }),
  ];
}

/** Null: there is none of V1 that is public. */
function publicConversation(context: AppContext, id: string): ConversationRow | null {
  const row = findConversation(context, id);
  return row?.public === true ? row : null;
}

function visibleOf(query: Parameters<typeof filterOf>[0]): EventFilter {
  return { ...filterOf(query), exceptKind: HIDDEN };
}
