/** Starting conversations, and the tasks that do it (interface sections 4.1 and 4.2). */
import type { Context } from 'hono';
import { check } from '../../../../protocol/detail.ts';
import {
  appConversationStart,
  startTaskCountQuery,
  startTaskSearchQuery,
  uuidList,
} from '../../../../protocol/v1/requests.ts';
import type { StartTaskRow } from '../../../storage/start-tasks.ts';
import {
  HttpAnswer,
  json,
  offsetPage,
  readJson,
  readQuery,
  readQueryList,
  refuse,
  refuseDetail,
} from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { readSettings } from '../../settings/record.ts';
import { StartRefused, startFromV1 } from '../../starts/start-request.ts';
import { findConversation, findStartTask } from './known.ts';
import type { Route } from '../../route.ts';

export function startRoutes(context: AppContext): Route[] {
  const { starter, store } = context;
  const at = (path: string): string => `/api/v1/app-conversations${path}`;
  return [
    {
      method: 'POST',
      path: at(''),
      handle: async (c) => json(shownTask(await begin(c, context), 'Z')),
    },
    {
      method: 'POST',
      path: at('/stream-start'),
      handle: async (c) => {
        const task = await begin(c, context);
        return new Response(streamOf(starter.watch(task.id)), { headers: { 'Content-Type': 'application/json' } });
      },
    },
    {
      method: 'GET',
      path: at('/start-tasks/search'),
      handle: (c) => {
        const query = readQuery(c, startTaskSearchQuery);
        const filter = filterOf(query);
        const page = offsetPage(query.limit, query.page_id, (limit, offset) =>
          store.startTasks.page(filter, query.sort_order, limit, offset),
        );
        return json({ ...page, items: page.items.map((task) => shownTask(task)) });
      },
    },
    {
      method: 'GET',
      path: at('/start-tasks/count'),
      handle: (c) => json(store.startTasks.count(filterOf(readQuery(c, startTaskCountQuery)))),
    },
    {
      method: 'GET',
      path: at('/start-tasks'),
      handle: (c) => {
        const ids = check(uuidList, readQueryList(c, 'ids'), 'query');
        if (!ids.ok)
          throw refuseDetail(ids.detail.map((each) => ({ ...each, loc: ['query', 'ids', ...each.loc.slice(1)] })));
        if (ids.value.length > 100)
          throw refuse(400, `Cannot request more than 100 start tasks at once, got ${ids.value.length}`);
        return json(
          ids.value.map((id) => findStartTask(context, id)).map((task) => (task === null ? null : shownTask(task))),
        );
      },
    },
  ];
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
  if (existing?.dialect === 'V0') throw refuse(409, `Conversation ${existing.id} is one of V0`);
  // A known conversation is only pointed at; the request need not say again what it plays.
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
    if (error.member === null) throw new HttpAnswer(400, { detail: error.message, msg_id: error.messageId });
    throw refuseDetail([{ type: 'value_error', loc: ['body', error.member], msg: `Value error, ${error.message}` }]);
  }
}

/** A task as it is shown. The first answer has times with `Z`, later ones are naive, as on genuine servers. */
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

/** One JSON array, delivered state by state. */
function streamOf(states: AsyncGenerator<StartTaskRow, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isFirst = true;
  return new ReadableStream({
    async pull(controller) {
      const state: IteratorResult<StartTaskRow, void> = await states.next();
      if (state.done === true) {
        controller.enqueue(encoder.encode(']'));
        controller.close();
        return;
      }
      const start = isFirst ? '[\n' : ',\n';
      isFirst = false;
      controller.enqueue(encoder.encode(start + JSON.stringify(shownTask(state.value, 'Z'))));
    },
    async cancel() {
      await states.return(undefined);
    },
  });
}
