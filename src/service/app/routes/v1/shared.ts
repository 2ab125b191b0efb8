/**
 * Reading a public conversation without a key (interface section 4.5). A conversation that is not public is answered as
 * one that does not exist.
 */
import { record, uuid } from '../../../../protocol/detail.ts';
import { eventSearchQuery } from '../../../../protocol/v1/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { json } from '../../../http/answer.ts';
import { readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { sharedConversationRecord } from '../../conversation-record.ts';
import { idsOf } from './conversations.ts';
import { filterOf, searchEvents } from './events.ts';
import { findConversation } from './known.ts';

/** Left out: state updates name paths and settings of this machine. */
const HIDDEN = 'ConversationStateUpdateEvent';

const searchQuery = record({ ...eventSearchQuery.entries, conversation_id: uuid() });

export function sharedHandlers(context: AppContext): Handlers<AppRoute> {
  const publicRow = (id: string): ConversationRow | null => {
    const row = findConversation(context, id);
    return row?.public === true ? row : null;
  };
  return {
    'GET /api/shared-conversations': (c) => {
      const rows = idsOf(c).map(publicRow);
      return json(rows.map((row) => (row === null ? null : sharedConversationRecord(row, context))));
    },
    'GET /api/shared-events/search': (c) => {
      const query = readQuery(c, searchQuery);
      const row = publicRow(query.conversation_id);
      return searchEvents((work) => (row === null ? null : context.logs.read(row, work)), query, {
        ...filterOf(query),
        exceptKind: HIDDEN,
      });
    },
  };
}
