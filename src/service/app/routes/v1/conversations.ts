/** Reading, changing and deleting conversations (interface sections 4.3 and 4.4). */
import type { Context } from 'hono';
import { toHexId } from '../../../../protocol/detail.ts';
import {
  appConversationPatch,
  conversationCountQuery,
  conversationSearchQuery,
} from '../../../../protocol/v1/requests.ts';
import type { ConversationChange, ConversationFilter } from '../../../storage/conversations.ts';
import { invalidMember, json, refuse } from '../../../http/answer.ts';
import { offsetPage, pathId, readJson, readQuery, readQueryList } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { conversationRecord, sandboxLookup } from '../../conversation-record.ts';
import { isRepositoryForm } from '../../repositories/repository.ts';
import { removeConversation } from '../../removal.ts';
import { findConversation } from './known.ts';

const MAX_IDS = 99;

export function conversationHandlers(context: AppContext): Handlers<AppRoute> {
  const { conversations } = context.store;
  return {
    'GET /api/v1/app-conversations/search': (c) => {
      const query = readQuery(c, conversationSearchQuery);
      const filter = filterOf(query);
      const page = offsetPage(query, (limit, offset) => conversations.page(filter, limit, offset));
      const sandboxes = sandboxLookup(context);
      return json({ ...page, items: page.items.map((row) => conversationRecord(row, context, sandboxes)) });
    },
    'GET /api/v1/app-conversations/count': (c) =>
      json(conversations.count(filterOf(readQuery(c, conversationCountQuery)))),
    'GET /api/v1/app-conversations': (c) => {
      const rows = idsOf(c).map((id) => findConversation(context, id));
      return json(rows.map((row) => (row === null ? null : conversationRecord(row, context))));
    },
    'PATCH /api/v1/app-conversations/{conversation_id}': async (c) => {
      const id = pathId(c);
      const body = await readJson(c, appConversationPatch);
      if (findConversation(context, id) === null) throw refuse(404, 'unknown_app_conversation');
      if (body.selected_repository != null && !isRepositoryForm(body.selected_repository)) {
        throw invalidMember('selected_repository', 'neither owner/name nor a URL nor an absolute path');
      }
      conversations.update(id, { ...changeOf(body), updated_at: context.clock.stamp() });
      const row = conversations.get(id);
      if (row === null) throw refuse(404, 'unknown_app_conversation');
      return json(conversationRecord(row, context));
    },
    'DELETE /api/v1/app-conversations/{conversation_id}': async (c) => {
      const id = toHexId(c.req.param('conversation_id') ?? '');
      if (id === null) throw refuse(400, 'Invalid conversation ID format');
      const isKnown = findConversation(context, id) !== null;
      if (!isKnown || !(await removeConversation(context, id))) throw refuse(404, 'Conversation not found');
      return json({ success: true });
    },
  };
}

/** The `ids` of the query as 32 hexadecimal digits each. Refuses too many, and any that is not an id, with 400. */
export function idsOf(c: Context): string[] {
  const given = readQueryList(c, 'ids');
  if (given.length > MAX_IDS) throw refuse(400, `Too many ids requested. Maximum is ${MAX_IDS}.`);
  const wrong = given.filter((id) => toHexId(id) === null);
  if (wrong.length > 0) {
    const quoted = wrong.map((id) => `'${id.slice(0, 100)}'`).join(', ');
    throw refuse(400, `Invalid UUID format for ids: [${quoted}]`);
  }
  return given.map((id) => toHexId(id) ?? '');
}

interface Query {
  title__contains?: string;
  created_at__gte?: string;
  created_at__lt?: string;
  updated_at__gte?: string;
  updated_at__lt?: string;
  sandbox_id__eq?: string;
  include_sub_conversations: boolean;
}

function filterOf(query: Query): ConversationFilter {
  const filter: ConversationFilter = { dialect: 'V1', topLevelOnly: !query.include_sub_conversations };
  if (query.title__contains !== undefined) filter.titleContains = query.title__contains;
  if (query.created_at__gte !== undefined) filter.createdGte = query.created_at__gte;
  if (query.created_at__lt !== undefined) filter.createdLt = query.created_at__lt;
  if (query.updated_at__gte !== undefined) filter.updatedGte = query.updated_at__gte;
  if (query.updated_at__lt !== undefined) filter.updatedLt = query.updated_at__lt;
  if (query.sandbox_id__eq !== undefined) filter.sandboxId = query.sandbox_id__eq;
  return filter;
}

interface Patch {
  title?: string | null;
  public?: boolean | null;
  selected_repository?: string | null;
  selected_branch?: string | null;
  git_provider?: string | null;
}

/** Only members that are present change; null clears. */
function changeOf(body: Patch): ConversationChange {
  const change: ConversationChange = {};
  if (body.title !== undefined) change.title = body.title;
  if (body.public !== undefined) change.public = body.public;
  if (body.selected_repository !== undefined) change.repository = body.selected_repository;
  if (body.selected_branch !== undefined) change.branch = body.selected_branch;
  if (body.git_provider !== undefined) change.git_provider = body.git_provider;
  return change;
}
