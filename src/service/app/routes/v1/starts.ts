/** Starting conversations, and the tasks that do it (interface sections 4.1 and 4.2). */
import type { Context } from 'hono';
import { appConversationStart, startTaskSearchQuery, uuidList } from '../../../../protocol/v1/requests.ts';
import type { StartTaskRow } from '../../../storage/start-tasks.ts';
import { HttpError, invalidMember, json, refuse } from '../../../http/answer.ts';
import { offsetPage, readCheckedList, readJson, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { readSettings } from '../../settings/record.ts';
import { StartRefused, startFromV1 } from '../../starts/start-request.ts';
import { findConversation, findStartTask } from './known.ts';

export function startHandlers(context: AppContext): Handlers<AppRoute> {
  const { startTasks } = context.store;
  return {
    'POST /api/v1/app-conversations': async (c) => json(shownTask(await begin(c, context), 'Z')),
    'GET /api/v1/app-conversations/start-tasks/search': (c) => {
      const query = readQuery(c, startTaskSearchQuery);
      const filter = filterOf(query);
      const page = offsetPage(query, (limit, offset) => startTasks.page(filter, query.sort_order, limit, offset));
      return json({ ...page, items: page.items.map((task) => shownTask(task)) });
    },
    'GET /api/v1/app-conversations/start-tasks': (c) => {
      const ids = readCheckedList(c, 'ids', uuidList);
      if (ids.length > 100) throw refuse(400, `Cannot request more than 100 start tasks at once, got ${ids.length}`);
      return json(ids.map((id) => findStartTask(context, id)).map((task) => (task === null ? null : shownTask(task))));
    },
  };
}

function filterOf(query: { conversation_id__eq?: string; created_at__gte?: string }) {
  return {
    dialect: 'V1' as const,
    ...(query.conversation_id__eq === undefined ? {} : { conversationId: query.conversation_id__eq }),
    ...(query.created_at__gte === undefined ? {} : { createdGte: query.created_at__gte }),
  };
}

async function begin(c: Context, context: AppContext): Promise<StartTaskRow> {
  const body = await readJson(c, appConversationStart);
  const parent = body.parent_conversation_id ?? null;
  if (parent !== null && findConversation(context, parent) === null) {
    throw refuse(400, `Parent conversation not found: ${parent}`);
  }
  const existing = body.conversation_id == null ? null : context.store.conversations.get(body.conversation_id);
  if (existing?.dialect === 'V0') throw refuse(409, `Conversation ${existing.id} belongs to V0`);
  // The start of a conversation that exists returns it, so the request need not name its replay again.
  const isKnown = existing?.start_state === 'ready';
  try {
    const settings = readSettings(context.store.documents);
    const request = startFromV1(isKnown ? { ...body, replay_json: body.replay_json ?? 'demo' } : body, {
      settings,
      specs: context.specs,
      defaultReplay: context.defaultReplay,
    });
    return context.starter.begin(request);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    if (error.member === null) throw new HttpError(400, { detail: error.message, msg_id: error.messageId });
    throw invalidMember(error.member, error.message);
  }
}

/** The record of a start task. Times have a `Z` in the first answer and are naive in later ones, as on genuine servers. */
function shownTask(task: StartTaskRow, zone: 'Z' | '' = ''): unknown {
  const time = (stamp: string): string => (zone === 'Z' ? stamp : stamp.replace(/Z$/, ''));
  return {
    id: task.id,
    created_by_user_id: null,
    status: task.status,
    detail: task.detail,
    app_conversation_id: task.app_conversation_id,
    sandbox_id: task.sandbox_id,
    agent_server_url: task.agent_server_url,
    request: task.request,
    created_at: time(task.created_at),
    updated_at: time(task.updated_at),
  };
}
