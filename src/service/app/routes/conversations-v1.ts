/**
 * Conversations of V1 and their events (interface sections 4 and 7.1). Without a key a conversation
 * that is not public does not exist.
 */
import * as v from 'valibot';
import { list, record, text, toDashedId, toHexId, uuid } from '../../../protocol/detail.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, invalidMember, refuse, SUCCESS } from '../../http/answer.ts';
import { offsetPage, pathId, present, timePage } from '../../http/request.ts';
import type { ZipMember } from '../../http/zip.ts';
import { body, query, type Handlers } from '../../http/route.ts';
import { textOf, type AgentAnswer } from '../../sandboxes/agent-client.ts';
import { SandboxUnavailable } from '../../sandboxes/supervisor.ts';
import type { AppRoute } from '../../http/served-routes.ts';
import type { ConversationFilter, ConversationRow } from '../../storage/conversations.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import { type EventFilter, parseStored } from '../../storage/event-log.ts';
import type { StartTaskRow } from '../../storage/start-tasks.ts';
import type { AppContext } from '../context.ts';
import {
  conversationRecord,
  removeConversation,
  sandboxOf,
  sharedMembers,
  workspacePath,
} from '../conversations.ts';
import { repositoryForm, shownRepository } from '../repository.ts';
import { readProfiles } from '../../settings/settings.ts';
import { StartRefused, startFromV1 } from '../starts/start-request.ts';
import { cut } from '../../../base/text/well-formed.ts';

const MAX_IDS = 99;
const PAGE = 500;

const sharedSearchQuery = record({ ...v1.eventSearchQuery.entries, conversation_id: uuid() });

/**
 * V1 has the conversations and start tasks that were created over V1, and no others. Null: not
 * found.
 */
function findConversation({ store }: AppContext, id: string): ConversationRow | null {
  const row = store.conversations.get(id);
  return row?.dialect === 'V1' ? row : null;
}

/** Its ids are checked below: other errors are a 400 at genuine servers. */
const idsQuery = record({ ids: list(text()) });
const fileQuery = record({ file_path: v.optional(text(), 'PLAN.md') });

function hexIds(given: string[]): string[] {
  if (given.length > MAX_IDS) throw refuse(400, `Too many ids requested. Maximum is ${MAX_IDS}.`);
  const wrong = given.filter((id) => toHexId(id) === null).map((id) => `'${cut(id, 100)}'`);
  if (wrong.length > 0) throw refuse(400, `Invalid UUID format for ids: [${wrong.join(', ')}]`);
  return given.map((id) => toHexId(id) ?? '');
}

export function conversationHandlersV1(context: AppContext): Handlers<AppRoute> {
  const { store, supervisor, starter, logs } = context;
  const { conversations, startTasks } = store;

  /**
   * The id of the running sandbox of a conversation; 404 or 409 otherwise, worded as in interface
   * section 4.4.
   */
  const runningSandbox = (id: string): string => {
    const row = findConversation(context, id);
    if (row === null) throw refuse(404, `Conversation ${toDashedId(id)} not found`);
    const { sandbox } = sandboxOf(row, context);
    if (sandbox === null) throw refuse(404, `Sandbox not found for conversation ${toDashedId(id)}`);
    if (sandbox.status === 'RUNNING') return sandbox.id;
    const hint = `Use POST /api/v1/sandboxes/${sandbox.id}/resume to resume it first.`;
    throw refuse(409, `Sandbox is ${sandbox.status}. ${hint}`);
  };
  /** `unreachable`: the status of the answer when the sandbox cannot be reached. */
  const post = async (
    id: string,
    path: string,
    json: unknown,
    unreachable: 502 | 503,
  ): Promise<AgentAnswer> => {
    try {
      const at = `/api/conversations/${id}/${path}`;
      return await supervisor.send(runningSandbox(id), { method: 'POST', path: at, json });
    } catch (error) {
      if (error instanceof SandboxUnavailable) throw refuse(unreachable, error.message);
      throw error;
    }
  };
  const publicRow = (id: string): ConversationRow | null => {
    const row = findConversation(context, id);
    return row?.public === true ? row : null;
  };
  const search = (
    row: ConversationRow | null,
    {
      limit,
      page_id: pageId = '0',
      sort_order,
      ...given
    }: v.InferOutput<typeof v1.eventSearchQuery>,
    exceptKind?: string,
  ) => {
    if (!/^\d{1,12}$/.test(pageId)) throw refuse(400, 'Invalid page_id');
    const order: 'asc' | 'desc' = sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
    const filter = {
      ...eventFilter(given),
      ...present({ exceptKind }),
      limit,
      after: Number(pageId),
      order,
    };
    const page = row === null ? null : logs.read(row, (log) => log.search(filter));
    return {
      items: page?.items ?? [],
      next_page_id: page?.next == null ? null : String(page.next.after),
    };
  };
  return {
    'POST /api/v1/app-conversations': body(v1.appConversationStart, (given) => {
      const { parent_conversation_id: parent, conversation_id: id } = given;
      if (parent != null && findConversation(context, parent) === null) {
        throw refuse(400, `Parent conversation not found: ${parent}`);
      }
      if (id != null && conversations.get(id)?.dialect === 'V0')
        throw refuse(409, `Conversation ${id} belongs to V0`);
      try {
        return taskRecord(starter.begin(startFromV1(given, context)), 'Z');
      } catch (error) {
        if (!(error instanceof StartRefused)) throw error;
        if (error.member !== null) throw invalidMember(error.member, error.message);
        throw new HttpError(400, { detail: error.message, msg_id: error.messageId });
      }
    }),
    'GET /api/v1/app-conversations/start-tasks/search': query(v1.startTaskSearchQuery, (given) => {
      const { conversation_id__eq: conversationId, created_at__gte: createdGte } = given;
      const filter = { dialect: 'V1' as const, ...present({ conversationId, createdGte }) };
      const page = offsetPage(given, (limit, offset) =>
        startTasks.page(filter, given.sort_order, limit, offset),
      );
      return { ...page, items: page.items.map((task) => taskRecord(task)) };
    }),
    'GET /api/v1/app-conversations/start-tasks': query(v1.startTaskQuery, ({ ids }) => {
      if (ids.length > 100)
        throw refuse(400, `Cannot request more than 100 start tasks at once, got ${ids.length}`);
      const tasks = ids.map((id) => startTasks.get(id));
      return tasks.map((task) => (task?.dialect === 'V1' ? taskRecord(task) : null));
    }),
    'GET /api/v1/app-conversations/search': query(v1.conversationSearchQuery, (given) => {
      const filter = filterOf(given);
      const page = timePage(given, (limit, from) => conversations.page(filter, limit, from));
      return { ...page, items: page.items.map((row) => conversationRecord(row, context)) };
    }),
    'GET /api/v1/app-conversations/count': query(v1.conversationCountQuery, (given) =>
      conversations.count(filterOf(given)),
    ),
    'GET /api/v1/app-conversations': query(idsQuery, ({ ids }) => {
      const rows = hexIds(ids).map((id) => findConversation(context, id));
      return rows.map((row) => (row === null ? null : conversationRecord(row, context)));
    }),
    'PATCH /api/v1/app-conversations/{conversation_id}': body(
      v1.appConversationPatch,
      (given, c) => {
        const id = pathId(c);
        const { selected_repository: repository, selected_branch: branch, ...same } = given;
        if (repository != null && repositoryForm(repository) === null) {
          throw invalidMember(
            'selected_repository',
            'neither owner/name nor a URL nor an absolute path',
          );
        }
        if (findConversation(context, id) === null) throw refuse(404, 'unknown_app_conversation');
        // Only members that are present change; null clears.
        conversations.update(id, {
          ...present({ repository, branch, ...same }),
          updated_at: context.clock.stamp(),
        });
        const row = conversations.get(id);
        return row === null ? null : conversationRecord(row, context);
      },
    ),
    'DELETE /api/v1/app-conversations/{conversation_id}': async (c) => {
      const id = toHexId(c.req.param('conversation_id') ?? '');
      if (id === null) throw refuse(400, 'Invalid conversation ID format');
      const isKnown = findConversation(context, id) !== null;
      if (!isKnown || !(await removeConversation(context, id)))
        throw refuse(404, 'Conversation not found');
      return SUCCESS;
    },
    'POST /api/v1/app-conversations/{conversation_id}/send-message': body(
      v1.sendMessage,
      async (given, c) => {
        const answer = await post(pathId(c), 'events', given, 503);
        if (answer.status === 507) throw refuse(507, textOf(answer));
        if (answer.status >= 500) throw refuse(503, `the agent server failed: ${textOf(answer)}`);
        if (answer.status >= 400) throw refuse(answer.status === 409 ? 409 : 502, textOf(answer));
        return { success: true, sandbox_status: 'RUNNING', message: null };
      },
    ),
    'POST /api/v1/app-conversations/{conversation_id}/switch_profile': body(
      v1.switchProfile,
      async (given, c) => {
        const id = pathId(c);
        runningSandbox(id);
        const name = given.profile_name;
        const profile = readProfiles(store.documents).profiles[name];
        if (profile === undefined) throw refuse(404, `Profile '${name}' not found`);
        const { model } = profile;
        if (typeof model !== 'string') throw refuse(400, `Profile '${name}' names no model`);
        const answer = await post(id, 'switch_llm', { llm: profile }, 502);
        if (answer.status >= 400) throw refuse(502, textOf(answer));
        conversations.update(id, { llm_model: model });
        return SUCCESS;
      },
    ),
    'POST /api/v1/app-conversations/{conversation_id}/switch_acp_model': body(
      v1.switchAcpModel,
      (_, c) => {
        runningSandbox(pathId(c));
        throw refuse(400, 'The agent of this conversation does not speak ACP');
      },
    ),
    'GET /api/v1/conversation/{conversation_id}/events/search': query(
      v1.eventSearchQuery,
      (given, c) => search(findConversation(context, pathId(c)), given),
    ),
    'GET /api/v1/conversation/{conversation_id}/events/count': query(
      v1.eventCountQuery,
      (given, c) => {
        const row = findConversation(context, pathId(c));
        return row === null ? 0 : (logs.read(row, (log) => log.count(eventFilter(given))) ?? 0);
      },
    ),
    // There are no skills.
    'GET /api/v1/app-conversations/{conversation_id}/skills': (c) => {
      const id = pathId(c);
      const row = findConversation(context, id);
      if (row === null)
        throw new HttpError(404, { error: `Conversation ${toDashedId(id)} not found` });
      if (sandboxOf(row, context).sandbox !== null) return { skills: [] };
      throw new HttpError(404, { error: `Sandbox not found for conversation ${toDashedId(id)}` });
    },
    'GET /api/shared-conversations': query(idsQuery, ({ ids }) =>
      hexIds(ids).map((id) => {
        const row = publicRow(id);
        if (row === null) return null;
        // No path of this machine.
        const isLocal = row.repository === null || /^(?:\/|file:)/i.test(row.repository);
        const selected_repository = isLocal ? null : shownRepository(row.repository ?? '');
        return { ...sharedMembers(row, context), selected_repository };
      }),
    ),
    'GET /api/shared-events/search': query(sharedSearchQuery, (given) =>
      // State updates name paths and settings of this machine.
      search(publicRow(given.conversation_id), given, 'ConversationStateUpdateEvent'),
    ),
    // Empty for any problem, as on genuine servers.
    'GET /api/v1/app-conversations/{conversation_id}/file': query(
      fileQuery,
      async ({ file_path: file }, c) => {
        const row = findConversation(context, pathId(c));
        if (row?.sandbox_id == null) return '';
        const path = workspacePath(row, file);
        try {
          const request = { method: 'GET' as const, path: '/api/file/download', query: { path } };
          const answer = await supervisor.send(row.sandbox_id, request);
          return answer.status === 200 ? answer.body.toString('utf8') : '';
        } catch (error) {
          if (error instanceof SandboxUnavailable) return '';
          throw error;
        }
      },
    ),
    'GET /api/v1/app-conversations/{conversation_id}/download': async (c) => {
      const id = pathId(c);
      const row = findConversation(context, id);
      if (row === null) throw refuse(404, `Conversation not found: ${toDashedId(id)}`);
      const { zipStream } = await import('../../http/zip.ts');
      return new Response(zipStream(archiveMembers(context, row)), {
        headers: {
          'Content-Type': 'application/zip',
          'Content-Disposition': `attachment; filename="conversation_${id}.zip"`,
        },
      });
    },
  };
}

/** Times of events are naive, UTC, and compared as text. */
function eventFilter(given: v.InferOutput<typeof v1.eventCountQuery>): EventFilter {
  const gte = given.timestamp__gte?.replace(/Z$/, '');
  const lt = given.timestamp__lt?.replace(/Z$/, '');
  return present({ kind: given.kind__eq, gte, lt });
}

/** Times have a `Z` in the first answer and are naive in later ones, as on genuine servers. */
function taskRecord(task: StartTaskRow, zone: 'Z' | '' = ''): unknown {
  const { dialect: _, conversation_id: __, created_at, updated_at, ...same } = task;
  return {
    ...same,
    created_by_user_id: null,
    created_at: created_at.replace(/Z$/, zone),
    updated_at: updated_at.replace(/Z$/, zone),
  };
}

function filterOf(given: v.InferOutput<typeof v1.conversationCountQuery>): ConversationFilter {
  const filter = present({
    titleContains: given.title__contains,
    createdGte: given.created_at__gte,
    createdLt: given.created_at__lt,
    updatedGte: given.updated_at__gte,
    updatedLt: given.updated_at__lt,
    sandboxId: given.sandbox_id__eq,
  });
  return { dialect: 'V1', topLevelOnly: !given.include_sub_conversations, ...filter };
}

function* archiveMembers(context: AppContext, row: ConversationRow): Generator<ZipMember> {
  const readable = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value, null, 2));
  const { session_api_key: _key, ...meta } = conversationRecord(row, context);
  yield ['meta.json', readable(meta)];
  for (let at = 0; ;) {
    // The log is looked up for each page: it may have been closed since the page before.
    const page = context.logs.read(row, (log) => log.readAfter(at, PAGE)) ?? [];
    if (page.length === 0) return;
    for (const { json } of page) {
      const event = parseStored<StoredEvent>(json);
      yield [`event_${String(at).padStart(6, '0')}_${event.id}.json`, readable(event)];
      at += 1;
    }
  }
}
