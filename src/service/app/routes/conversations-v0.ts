/** Conversations of V0 (interface section 3). */
import type { Context } from 'hono';
import * as v from 'valibot';
import { toHexId } from '../../../protocol/detail.ts';
import * as v0 from '../../../protocol/v0/requests.ts';
import { HttpError, refuse } from '../../http/answer.ts';
import { refused, textOrNull, unauthorized } from '../../http/records.ts';
import { POSITION, present } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import {
  defaultTitle,
  type ConversationFilter,
  type ConversationRow,
} from '../../storage/conversations.ts';
import { agentUrl } from '../../storage/sandboxes.ts';
import type { AppContext } from '../context.ts';
import { commonMembers, removeConversation, sandboxOf } from '../conversations.ts';
import * as records from '../records.ts';
import { connectedForgejo } from '../../settings/git-providers.ts';
import { repositoryForm } from '../repository.ts';
import { StartRefused, startFromV0, type StartRequest } from '../starts/start-request.ts';
import { AGENT_STATES } from '../v0-events.ts';

const MAX_LIMIT = 500;

/** For each state of the sandbox: the status of the conversation, and that of its runtime. */
const STATUSES = {
  STARTING: ['STARTING', 'STATUS$STARTING_RUNTIME'],
  RUNNING: ['RUNNING', 'STATUS$RUNTIME_STARTED'],
  PAUSED: ['STOPPED', null],
  ERROR: ['ERROR', 'STATUS$ERROR'],
  MISSING: ['ARCHIVED', null],
} as const;

/** A run that is idle has no event of V0. */
const SHOWN_STATES: typeof AGENT_STATES = { ...AGENT_STATES, idle: 'awaiting_user_input' };

export const conversationRoutesV0: readonly Route<AppContext>[] = [
  route('POST /api/conversations', {
    callers: 'acs conv new',
    body: v0.conversationCreate,
    answers: {
      200: records.conversationAnswer,
      400: records.statusError,
      401: unauthorized,
      409: records.statusError,
      ...refused(501),
    },
    async handle(context, { body, c }) {
      const given = toHexId(body.conversation_id ?? '');
      if (given !== null && isOfV1(context, given)) {
        const message = `Conversation ${given} belongs to V1`;
        throw new HttpError(409, { status: 'error', message, msg_id: 'CONVERSATION$EXISTS' });
      }
      try {
        const start = startFromV0(body, context, triggerOf(body, c));
        await assertReachable(context, start);
        const { conversation_id: id } = context.starter.begin(start);
        const row = context.store.conversations.get(id);
        return answer(id, null, row === null ? 'STARTING' : statusOf(row, context));
      } catch (error) {
        if (!(error instanceof StartRefused)) throw error;
        const { message, messageId: msg_id } = error;
        throw new HttpError(400, { status: 'error', message, msg_id });
      }
    },
  }),
  route('GET /api/conversations', {
    callers: 'acs conv list',
    query: v0.conversationListQuery,
    answers: {
      200: v.object({ results: v.array(records.conversationInfo), next_page_id: textOrNull() }),
      ...refused(400),
    },
    handle(context, { query }) {
      const from = query.page_id === undefined ? { V0: '0', V1: '0' } : positionIn(query.page_id);
      const filter: ConversationFilter = {
        topLevelOnly: !query.include_sub_conversations,
        ...present({ repository: query.selected_repository, trigger: query.conversation_trigger }),
      };
      const limit = Math.min(query.limit, MAX_LIMIT);
      const pageOf = (dialect: 'V0' | 'V1'): ConversationRow[] => {
        const position = from[dialect];
        if (position === null) return [];
        return context.store.conversations.page({ ...filter, dialect }, limit + 1, position);
      };
      const ahead = [...pageOf('V0'), ...pageOf('V1')].sort(
        (one, other) =>
          Number(one.created_at < other.created_at) - Number(one.created_at > other.created_at),
      );
      const rows = ahead.slice(0, limit);
      const left = ahead.slice(limit);
      const next = (dialect: 'V0' | 'V1'): string | null =>
        left.some((row) => row.dialect === dialect)
          ? (rows.at(-1)?.created_at ?? from[dialect])
          : null;
      return {
        results: rows.map((row) => conversationInfo(row, context)),
        next_page_id: left.length > 0 ? pageIdOf({ V0: next('V0'), V1: next('V1') }) : null,
      };
    },
  }),
  route('GET /api/conversations/{conversation_id}', {
    callers: 'acs conv show',
    // 400: no conversation of V0 can have this id.
    answers: { 200: v.nullable(records.conversationInfo), ...refused(400) },
    handle(context, { path }) {
      const row = findConversation(context, path.conversation_id);
      return row && conversationInfo(row, context);
    },
  }),
  route('PATCH /api/conversations/{conversation_id}', {
    callers: 'acs conv rename',
    body: v0.conversationPatch,
    answers: { 200: v.boolean(), ...refused(400), 404: records.statusError },
    handle(context, { path, body: { title } }) {
      const row = findConversation(context, path.conversation_id);
      if (row === null) {
        const message = 'Conversation not found';
        throw new HttpError(404, { status: 'error', message, msg_id: 'CONVERSATION$NOT_FOUND' });
      }
      const updated_at = context.clock.stamp();
      context.store.conversations.update(row.id, { title, updated_at });
      return true;
    },
  }),
  route('DELETE /api/conversations/{conversation_id}', {
    callers: 'acs conv delete',
    answers: { 200: v.boolean(), ...refused(400) },
    async handle(context, { path }) {
      const row = findConversation(context, path.conversation_id);
      return row !== null && (await removeConversation(context, row.id));
    },
  }),
  route('POST /api/conversations/{conversation_id}/start', {
    callers: 'acs conv resume',
    body: v0.conversationStart,
    answers: {
      200: records.conversationAnswer,
      404: records.statusError,
      409: records.statusError,
      410: records.statusError,
      ...refused(400, 501),
    },
    async handle(context, { path: { conversation_id } }) {
      const row = findOwn(context, conversation_id);
      if (row === null) throw new HttpError(404, { status: 'error', conversation_id });
      const refusal = (status: number, message: string) =>
        new HttpError(status, { status: 'error', conversation_id: row.id, message });
      const before = statusOf(row, context);
      if (before === 'ARCHIVED') throw refusal(410, 'The sandbox of this conversation was deleted');
      // A running conversation takes it too: a stop may be queued.
      const isResumed =
        row.sandbox_id !== null && (await context.supervisor.resume(row.sandbox_id));
      if (!isResumed && before !== 'STARTING')
        throw refusal(409, row.start_detail ?? 'The sandbox of this conversation is gone');
      return answer(row.id, null, before === 'RUNNING' ? 'RUNNING' : 'STARTING');
    },
  }),
  route('POST /api/conversations/{conversation_id}/stop', {
    callers: 'acs conv stop',
    answers: { 200: records.conversationAnswer, ...refused(400) },
    async handle(context, { path: { conversation_id } }) {
      const row = findOwn(context, conversation_id);
      const before = row === null ? 'STOPPED' : statusOf(row, context);
      const isUp = before === 'RUNNING' || before === 'STARTING';
      if (row?.sandbox_id == null || !isUp)
        return answer(conversation_id, 'Conversation was not running', before);
      await context.supervisor.pause(row.sandbox_id);
      return answer(row.id, 'Conversation stopped successfully', before);
    },
  }),
];

/** A conversation of either dialect: V0 lists, shows, renames and deletes those of V1 too. */
function findConversation({ store }: AppContext, given: string): ConversationRow | null {
  if (given.length > 100) throw refuse(400, 'Conversation ID is too long');
  if (/\.\.|[/\\\u0000]/.test(given))
    throw refuse(400, 'Conversation ID contains invalid path characters');
  return store.conversations.get(toHexId(given));
}

/** A conversation of V0; null for any other: V0 does not reach the runs of V1. */
export function findOwn(context: AppContext, given: string): ConversationRow | null {
  const row = findConversation(context, given);
  return row?.dialect === 'V0' ? row : null;
}

/** While a conversation of V1 starts it has a task and no record. */
function isOfV1({ store }: AppContext, id: string): boolean {
  const row = store.conversations.get(id);
  if (row !== null) return row.dialect === 'V1';
  return store.startTasks.count({ dialect: 'V1', conversationId: id }) > 0;
}

function triggerOf(body: v0.ConversationCreateV0, c: Context): string {
  if (body.suggested_task != null) return 'suggested_task';
  if (body.create_microagent != null) return 'microagent_management';
  return /^Bearer\s/i.test(c.req.header('authorization') ?? '') ? 'openhands_api' : 'gui';
}

/** Throws a 401 for a repository that names no host, or that its host does not have. */
async function assertReachable(
  { store }: AppContext,
  { body: { selected_repository: cloneFrom, git_provider: provider }, row }: StartRequest,
): Promise<void> {
  if (cloneFrom == null) return;
  const form = repositoryForm(cloneFrom);
  let exists = form === 'name' ? provider != null : form !== null;
  if (form === 'name' && provider === 'forgejo') {
    // Without an answer of the host, git decides.
    const answer = connectedForgejo(store.documents)?.hasRepository(cloneFrom);
    exists = (await answer?.catch(() => true)) ?? true;
  }
  if (!exists) throw new HttpError(401, `Unable to access repo ${row.repository}`);
}

function statusOf(row: ConversationRow, context: AppContext) {
  return STATUSES[sandboxOf(row, context).state][0];
}

function answer(conversation_id: string, message: string | null, conversation_status: string) {
  return { status: 'ok', conversation_id, message, conversation_status };
}

function conversationInfo(row: ConversationRow, context: AppContext): unknown {
  const { sandbox, state } = sandboxOf(row, context);
  const [status, runtime_status] = STATUSES[state];
  const path = state === 'RUNNING' ? `/api/conversations/${row.id}` : null;
  // A conversation of V1 is reached at its agent server, one of V0 at this server.
  const agent = path && {
    runtime_status: 'STATUS$READY',
    url: `${agentUrl(sandbox)}${path}`,
    session_api_key: sandbox?.session_api_key,
  };
  const ofV1 = { sandbox_id: row.sandbox_id, local_agent_state: undefined, ...agent };
  return {
    conversation_id: row.id,
    title: row.title ?? defaultTitle(row.id),
    last_updated_at: row.updated_at,
    status,
    runtime_status,
    ...commonMembers(row, context),
    trigger: row.trigger,
    num_connections: 0,
    url: path,
    session_api_key: null,
    conversation_version: row.dialect,
    public: row.public,
    sandbox_id: null,
    // Sent by the local service only. Without V1 no route takes the id of a sandbox.
    local_sandbox_id: context.api === 'v0' ? undefined : row.sandbox_id,
    local_agent_state: SHOWN_STATES[row.execution_status ?? ''] ?? null,
    local_base_commit: row.base_commit ?? undefined,
    ...(row.dialect === 'V1' && ofV1),
  };
}

/** Where the next page begins in each dialect; null: no more of it. */
type Position = Record<'V0' | 'V1', string | null>;

/** JSON in base64, as on genuine servers: the position in V0 is in base64 once more. */
function pageIdOf({ V0, V1 }: Position): string {
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  return encoded(JSON.stringify({ v0: V0 === null ? null : encoded(V0), v1: V1 }));
}

function positionIn(pageId: string): Position {
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
  try {
    const { v0, v1 } = JSON.parse(decoded(pageId)) as { v0: string | null; v1: string | null };
    const position = { V0: v0 === null ? null : decoded(v0), V1: v1 };
    if (Object.values(position).every((each) => each === null || POSITION.test(each)))
      return position;
  } catch {
    // refused below
  }
  throw refuse(400, 'Invalid page_id');
}
