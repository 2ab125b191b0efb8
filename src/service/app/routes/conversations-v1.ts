/** Conversations of V1 and their events (interface sections 4 and 7.1). */
import * as v from 'valibot';
import { list, record, text, toDashedId, toHexId, uuid } from '../../../protocol/detail.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, invalidMember, refuse, SUCCESS } from '../../http/answer.ts';
import {
  dictionary,
  errorMessage,
  event,
  integer,
  pageOf,
  refused,
  success,
} from '../../http/records.ts';
import { assertFew, offsetPage, present, timePage } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import type { ZipMember } from '../../http/zip.ts';
import { textOf, type AgentAnswer } from '../../sandboxes/agent-client.ts';
import { SandboxUnavailable } from '../../sandboxes/supervisor.ts';
import type { ConversationFilter, ConversationRow } from '../../storage/conversations.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import { type EventFilter, parseStored } from '../../storage/event-log.ts';
import type { StartTaskRow } from '../../storage/start-tasks.ts';
import type { AppContext } from '../context.ts';
import {
  conversationRecord,
  removeConversation,
  sandboxOf,
  sendTo,
  sharedRecord,
  workspacePath,
} from '../conversations.ts';
import * as records from '../records.ts';
import { repositoryForm, shownRepository } from '../repository.ts';
import { knownProfile } from '../../settings/settings.ts';
import { StartRefused, startFromV1 } from '../starts/start-request.ts';
import { cut } from '../../../base/text/well-formed.ts';

const MAX_IDS = 99;
const MAX_TASKS = 100;
const PAGE = 500;

const BY_ID = { conversation_id: uuid };
const sharedSearchQuery = record({ ...v1.eventSearchQuery.entries, ...BY_ID });
/** Its ids are checked by `hexIds`: other errors are a 400 at genuine servers. */
const idsQuery = record({ ids: list(text) });
const fileQuery = record({ file_path: v.optional(text, 'PLAN.md') });

export const conversationRoutesV1: readonly Route<AppContext>[] = [
  route('POST /api/v1/app-conversations', {
    callers: 'acs conv new, openhands CLI, typescript-client',
    body: v1.appConversationStart,
    answers: { 200: records.startTask, ...refused(400, 409, 501) },
    handle(context, { body }) {
      const { parent_conversation_id: parent, conversation_id: id } = body;
      if (parent != null && findConversation(context, parent) === null)
        throw refuse(400, `Parent conversation not found: ${parent}`);
      if (id != null && context.store.conversations.get(id)?.dialect === 'V0')
        throw refuse(409, `Conversation ${id} belongs to V0`);
      try {
        return taskRecord(context.starter.begin(startFromV1(body, context)), 'Z');
      } catch (error) {
        if (!(error instanceof StartRefused)) throw error;
        if (error.member !== null) throw invalidMember(error.member, error.message);
        throw new HttpError(400, { detail: error.message, msg_id: error.messageId });
      }
    },
  }),
  route('GET /api/v1/app-conversations', {
    callers: 'acs conv show, openhands CLI, typescript-client',
    query: idsQuery,
    answers: { 200: v.array(v.nullable(records.appConversation)), ...refused(400) },
    handle: (context, { query }) =>
      hexIds(query.ids).map((id) => {
        const row = findConversation(context, id);
        return row && conversationRecord(row, context);
      }),
  }),
  route('GET /api/v1/app-conversations/search', {
    callers: 'acs conv list, typescript-client',
    query: v1.conversationSearchQuery,
    answers: { 200: pageOf(records.appConversation) },
    handle(context, { query }) {
      const page = timePage(query, (limit, from) =>
        context.store.conversations.page(filterOf(query), limit, from),
      );
      return { ...page, items: page.items.map((row) => conversationRecord(row, context)) };
    },
  }),
  route('GET /api/v1/app-conversations/count', {
    callers: 'acs (probe)',
    query: v1.conversationCountQuery,
    answers: { 200: integer() },
    handle: ({ store }, { query }) => store.conversations.count(filterOf(query)),
  }),
  route('GET /api/v1/app-conversations/start-tasks', {
    callers: 'acs conv new, openhands CLI, typescript-client',
    query: v1.startTaskQuery,
    answers: { 200: v.array(v.nullable(records.startTask)), ...refused(400) },
    handle({ store }, { query: { ids } }) {
      assertFew(ids, MAX_TASKS, 'start tasks');
      const tasks = ids.map((id) => store.startTasks.get(id));
      return tasks.map((task) => (task?.dialect === 'V1' ? taskRecord(task) : null));
    },
  }),
  route('GET /api/v1/app-conversations/start-tasks/search', {
    callers: 'acs conv new',
    query: v1.startTaskSearchQuery,
    answers: { 200: pageOf(records.startTask) },
    handle({ store }, { query }) {
      const { conversation_id__eq: conversationId, created_at__gte: createdGte } = query;
      const filter = { dialect: 'V1' as const, ...present({ conversationId, createdGte }) };
      const page = offsetPage(query, (limit, offset) =>
        store.startTasks.page(filter, query.sort_order, limit, offset),
      );
      return { ...page, items: page.items.map((task) => taskRecord(task)) };
    },
  }),
  route('PATCH /api/v1/app-conversations/{conversation_id}', {
    callers: 'acs conv rename, typescript-client',
    parts: BY_ID,
    body: v1.appConversationPatch,
    answers: { 200: v.nullable(records.appConversation), ...refused(404) },
    handle(context, { path: { conversation_id: id }, body }) {
      const { conversations } = context.store;
      const { selected_repository: given, selected_branch: branch, ...same } = body;
      if (given != null && repositoryForm(given) === null) {
        throw invalidMember(
          'selected_repository',
          'neither owner/name nor a URL nor an absolute path',
        );
      }
      if (findConversation(context, id) === null) throw refuse(404, 'unknown_app_conversation');
      const repository = given && shownRepository(given);
      // Only members that are present change; null clears.
      conversations.update(id, {
        ...present({ repository, branch, ...same }),
        updated_at: context.clock.stamp(),
      });
      const row = conversations.get(id);
      return row && conversationRecord(row, context);
    },
  }),
  route('DELETE /api/v1/app-conversations/{conversation_id}', {
    callers: 'acs conv delete, typescript-client',
    answers: { 200: success, ...refused(400, 404) },
    async handle(context, { path }) {
      const id = toHexId(path.conversation_id);
      if (id === null) throw refuse(400, 'Invalid conversation ID format');
      if (findConversation(context, id) === null || !(await removeConversation(context, id)))
        throw refuse(404, 'Conversation not found');
      return SUCCESS;
    },
  }),
  route('POST /api/v1/app-conversations/{conversation_id}/send-message', {
    callers: 'acs conv send',
    parts: BY_ID,
    body: v1.sendMessage,
    answers: {
      200: v.object({ success: v.boolean(), sandbox_status: v.string(), message: v.null() }),
      ...refused(404, 409, 502, 503, 507),
    },
    async handle(context, { path, body }) {
      const answer = await post(context, path.conversation_id, 'events', body, 503);
      const { status } = answer;
      const text = textOf(answer);
      if (status === 507 || status === 409) throw refuse(status, text);
      if (status >= 500) throw refuse(503, `the agent server failed: ${text}`);
      if (status >= 400) throw refuse(502, text);
      return { success: true, sandbox_status: 'RUNNING', message: null };
    },
  }),
  route('POST /api/v1/app-conversations/{conversation_id}/switch_profile', {
    callers: 'typescript-client',
    parts: BY_ID,
    body: v1.switchProfile,
    answers: { 200: success, ...refused(400, 404, 409, 502) },
    async handle(context, { path: { conversation_id: id }, body: { profile_name: name } }) {
      const { documents, conversations } = context.store;
      runningSandbox(context, id);
      const { llm } = knownProfile(documents, name);
      const { model } = llm;
      if (typeof model !== 'string') throw refuse(400, `Profile '${name}' names no model`);
      const answer = await post(context, id, 'switch_llm', { llm }, 502);
      if (answer.status >= 400) throw refuse(502, textOf(answer));
      conversations.update(id, { llm_model: model });
      return SUCCESS;
    },
  }),
  route('POST /api/v1/app-conversations/{conversation_id}/switch_acp_model', {
    callers: 'typescript-client',
    parts: BY_ID,
    body: v1.switchAcpModel,
    answers: refused(400, 404, 409),
    handle(context, { path }) {
      runningSandbox(context, path.conversation_id);
      throw refuse(400, 'The agent of this conversation does not speak ACP');
    },
  }),
  route('GET /api/v1/app-conversations/{conversation_id}/file', {
    callers: 'typescript-client',
    parts: BY_ID,
    query: fileQuery,
    answers: { 200: v.string() },
    // Empty for any problem, as on genuine servers.
    async handle(context, { path, query }) {
      const row = findConversation(context, path.conversation_id);
      if (row?.sandbox_id == null) return '';
      try {
        const answer = await context.supervisor.send(row.sandbox_id, {
          method: 'GET',
          path: '/api/file/download',
          query: { path: workspacePath(row, query.file_path) },
        });
        return answer.status === 200 ? answer.body.toString('utf8') : '';
      } catch (error) {
        if (error instanceof SandboxUnavailable) return '';
        throw error;
      }
    },
  }),
  route('GET /api/v1/app-conversations/{conversation_id}/download', {
    callers: 'typescript-client',
    parts: BY_ID,
    answers: { 200: 'application/zip', ...refused(404) },
    async handle(context, { path: { conversation_id: id } }) {
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
  }),
  route('GET /api/v1/app-conversations/{conversation_id}/skills', {
    callers: 'OpenHands frontend',
    parts: BY_ID,
    answers: { 200: v.object({ skills: v.array(dictionary()) }), 404: errorMessage },
    handle(context, { path: { conversation_id: id } }) {
      const row = findConversation(context, id);
      if (row === null)
        throw new HttpError(404, { error: `Conversation ${toDashedId(id)} not found` });
      if (sandboxOf(row, context).sandbox !== null) return { skills: [] };
      throw new HttpError(404, { error: `Sandbox not found for conversation ${toDashedId(id)}` });
    },
  }),
  route('GET /api/v1/conversation/{conversation_id}/events/search', {
    callers: 'acs conv events, acs conv export, acs conv follow',
    parts: BY_ID,
    query: v1.eventSearchQuery,
    answers: { 200: pageOf(event), ...refused(400) },
    handle: (context, { path, query }) =>
      searchEvents(context, findConversation(context, path.conversation_id), query),
  }),
  route('GET /api/v1/conversation/{conversation_id}/events/count', {
    callers: 'openhands-api skill',
    parts: BY_ID,
    query: v1.eventCountQuery,
    answers: { 200: integer() },
    handle(context, { path, query }) {
      const row = findConversation(context, path.conversation_id);
      const count = row && context.logs.read(row, (log) => log.count(eventFilter(query)));
      return count ?? 0;
    },
  }),
  route('GET /api/shared-conversations', {
    callers: 'typescript-client',
    access: 'open',
    query: idsQuery,
    answers: { 200: v.array(v.nullable(records.sharedConversation)), ...refused(400) },
    handle: (context, { query }) =>
      hexIds(query.ids).map((id) => {
        const row = findPublic(context, id);
        if (row === null) return null;
        // No path of this machine.
        const isLocal = row.repository === null || /^(?:\/|file:)/i.test(row.repository);
        const selected_repository = isLocal ? null : shownRepository(row.repository ?? '');
        return { ...sharedRecord(row, context), selected_repository };
      }),
  }),
  route('GET /api/shared-events/search', {
    callers: 'typescript-client',
    access: 'open',
    query: sharedSearchQuery,
    answers: { 200: pageOf(event), ...refused(400) },
    handle: (context, { query }) =>
      // State updates name paths and settings of this machine.
      searchEvents(
        context,
        findPublic(context, query.conversation_id),
        query,
        'ConversationStateUpdateEvent',
      ),
  }),
];

/** Null for a conversation of V0 too: V1 has only its own. */
function findConversation({ store }: AppContext, id: string): ConversationRow | null {
  const row = store.conversations.get(id);
  return row?.dialect === 'V1' ? row : null;
}

function findPublic(context: AppContext, id: string): ConversationRow | null {
  const row = findConversation(context, id);
  return row?.public === true ? row : null;
}

function hexIds(ids: string[]): string[] {
  if (ids.length > MAX_IDS) throw refuse(400, `Too many ids requested. Maximum is ${MAX_IDS}.`);
  const wrong = ids.filter((id) => toHexId(id) === null).map((id) => `'${cut(id, 100)}'`);
  if (wrong.length > 0) throw refuse(400, `Invalid UUID format for ids: [${wrong.join(', ')}]`);
  return ids.map((id) => toHexId(id) ?? '');
}

/** The id of the running sandbox; throws 404 or 409, worded as in interface section 4.4. */
function runningSandbox(context: AppContext, id: string): string {
  const row = findConversation(context, id);
  if (row === null) throw refuse(404, `Conversation ${toDashedId(id)} not found`);
  const { sandbox } = sandboxOf(row, context);
  if (sandbox === null) throw refuse(404, `Sandbox not found for conversation ${toDashedId(id)}`);
  if (sandbox.status === 'RUNNING') return sandbox.id;
  const hint = `Use POST /api/v1/sandboxes/${sandbox.id}/resume to resume it first.`;
  throw refuse(409, `Sandbox is ${sandbox.status}. ${hint}`);
}

/** `unreachable`: the status of the answer when the sandbox cannot be reached. */
async function post(
  context: AppContext,
  id: string,
  path: string,
  json: unknown,
  unreachable: 502 | 503,
): Promise<AgentAnswer> {
  const request = { method: 'POST' as const, path: `/api/conversations/${id}/${path}`, json };
  const refusal = (message: string) => refuse(unreachable, message);
  return await sendTo(context, runningSandbox(context, id), request, refusal);
}

/** Null: a conversation that does not exist has no events. */
function searchEvents(
  { logs }: AppContext,
  row: ConversationRow | null,
  query: v.InferOutput<typeof v1.eventSearchQuery>,
  exceptKind?: string,
) {
  const { limit, page_id: pageId = '0', sort_order } = query;
  if (!/^\d{1,12}$/.test(pageId)) throw refuse(400, 'Invalid page_id');
  const order: 'asc' | 'desc' = sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
  const filter = { ...eventFilter(query), ...present({ exceptKind }), limit, order };
  const page = row && logs.read(row, (log) => log.search({ ...filter, after: Number(pageId) }));
  return {
    items: page?.items ?? [],
    next_page_id: page?.next == null ? null : String(page.next.after),
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
