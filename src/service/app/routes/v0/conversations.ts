/** Conversations of V0: create, list, read, rename, delete, start, stop (interface sections 3.1 to 3.3). */
import type { Context } from 'hono';
import {
  conversationCreate,
  conversationListQuery,
  conversationPatch,
  conversationStart,
} from '../../../../protocol/v0/requests.ts';
import type { ConversationFilter, ConversationRow } from '../../../store/conversations.ts';
import { HttpAnswer, json, readJson, readQuery, refuse } from '../../answers.ts';
import type { Route } from '../../app.ts';
import type { AppContext } from '../../context.ts';
import { sandboxLookup, sandboxStateOf, type SandboxState } from '../../conversation-record.ts';
import { removeConversation } from '../../removal.ts';
import { readSettings } from '../../settings/record.ts';
import { StartRefused, startFromV0 } from '../../start-request.ts';
import { toHexId } from '../../../../protocol/detail.ts';
import { findConversation, givenId } from './known.ts';

const ROOT = '/api/conversations';

export function conversationRoutes(context: AppContext): Route[] {
  const { store } = context;
  return [
    { method: 'POST', path: ROOT, handle: (c) => create(context, c) },
    { method: 'GET', path: ROOT, handle: (c) => list(context, c, {}) },
    {
      method: 'GET',
      path: '/api/microagent-management/conversations',
      handle: (c) => list(context, c, { trigger: 'microagent_management' }),
    },
    {
      method: 'GET',
      path: `${ROOT}/{conversation_id}`,
      handle: (c) => {
        const row = findConversation(context, c);
        return json(row === null ? null : conversationInfo(row, context));
      },
    },
    {
      method: 'PATCH',
      path: `${ROOT}/{conversation_id}`,
      handle: async (c) => {
        const { title } = await readJson(c, conversationPatch);
        const row = findConversation(context, c);
        if (row === null) {
          const message = 'Conversation not found';
          throw new HttpAnswer(404, { status: 'error', message, msg_id: 'CONVERSATION$NOT_FOUND' });
        }
        store.conversations.update(row.id, { title, updated_at: context.clock.stamp() });
        return json(true);
      },
    },
    {
      method: 'DELETE',
      path: `${ROOT}/{conversation_id}`,
      handle: async (c) => {
        const row = findConversation(context, c);
        return json(row !== null && (await removeConversation(context, row.id)));
      },
    },
    { method: 'POST', path: `${ROOT}/{conversation_id}/start`, handle: (c) => start(context, c) },
    { method: 'POST', path: `${ROOT}/{conversation_id}/stop`, handle: (c) => stop(context, c) },
  ];
}

async function create(context: AppContext, c: Context): Promise<Response> {
  const body = await readJson(c, conversationCreate);
  const known = body.conversation_id == null ? null : toHexId(body.conversation_id);
  const isKnown = known !== null && context.store.conversations.get(known)?.start_state === 'ready';
  const isBearer = /^Bearer\s/i.test(c.req.header('authorization') ?? '');
  const trigger =
    body.suggested_task != null
      ? 'suggested_task'
      : body.create_microagent != null
        ? 'microagent_management'
        : isBearer
          ? 'openhands_api'
          : 'gui';
  try {
    const around = { settings: readSettings(context.store.documents), defaultSpec: context.defaultSpec };
    // A known conversation is only pointed at; the request need not say again what it plays.
    const given = isKnown ? { ...body, replay_json: body.replay_json ?? 'demo' } : body;
    const task = context.starter.begin(startFromV0(given, around, trigger));
    const row = context.store.conversations.get(task.conversation_id);
    return json({
      status: 'ok',
      conversation_id: task.conversation_id,
      message: null,
      conversation_status: row === null ? 'STARTING' : statusOf(row, context),
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    throw new HttpAnswer(400, { status: 'error', message: error.message, msg_id: error.messageId });
  }
}

/** Every conversation, newest first; the page id is opaque, and so in base64. */
function list(context: AppContext, c: Context, fixed: ConversationFilter): Response {
  const query = readQuery(c, conversationListQuery);
  const offset = query.page_id === undefined ? 0 : offsetIn(query.page_id);
  const filter: ConversationFilter = {
    topLevelOnly: !query.include_sub_conversations,
    ...(query.selected_repository === undefined ? {} : { repository: query.selected_repository }),
    ...(query.conversation_trigger === undefined ? {} : { trigger: query.conversation_trigger }),
    ...fixed,
  };
  const limit = Math.min(query.limit, MAX_LIMIT);
  const found = context.store.conversations.page(filter, limit + 1, offset);
  const sandboxes = sandboxLookup(context);
  const results = found.slice(0, limit).map((row) => conversationInfo(row, context, sandboxes));
  return json({ results, next_page_id: found.length > limit ? pageId(offset + limit) : null });
}

const MAX_LIMIT = 500;

function pageId(offset: number): string {
  return Buffer.from(JSON.stringify({ offset })).toString('base64');
}

function offsetIn(given: string): number {
  try {
    const { offset } = JSON.parse(Buffer.from(given, 'base64').toString('utf8')) as { offset?: unknown };
    if (typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0) return offset;
  } catch {
    // told below
  }
  throw refuse(400, 'Invalid page_id');
}

const STATUSES: Record<SandboxState, string> = {
  STARTING: 'STARTING',
  RUNNING: 'RUNNING',
  PAUSED: 'STOPPED',
  ERROR: 'ERROR',
  MISSING: 'ARCHIVED',
};
const RUNTIME_STATUSES: Record<SandboxState, string | null> = {
  STARTING: 'STATUS$STARTING_RUNTIME',
  RUNNING: 'STATUS$RUNTIME_STARTED',
  PAUSED: null,
  ERROR: 'STATUS$ERROR',
  MISSING: null,
};

function stateOf(row: ConversationRow, context: AppContext, sandboxes = sandboxLookup(context)): SandboxState {
  return sandboxStateOf(row, sandboxes(row.sandbox_id));
}

function statusOf(row: ConversationRow, context: AppContext): string {
  return STATUSES[stateOf(row, context)];
}

function conversationInfo(row: ConversationRow, context: AppContext, sandboxes = sandboxLookup(context)): unknown {
  const state = stateOf(row, context, sandboxes);
  const sandbox = sandboxes(row.sandbox_id);
  const isRunning = state === 'RUNNING';
  // A conversation of V1 is reached at its agent server, one of V0 here.
  const url = row.dialect === 'V0' ? `${ROOT}/${row.id}` : `http://127.0.0.1:${sandbox?.port}${ROOT}/${row.id}`;
  return {
    conversation_id: row.id,
    title: row.title,
    last_updated_at: row.updated_at,
    status: STATUSES[state],
    runtime_status: RUNTIME_STATUSES[state],
    selected_repository: row.repository,
    selected_branch: row.branch,
    git_provider: row.git_provider,
    trigger: row.trigger,
    num_connections: 0,
    url: isRunning ? url : null,
    session_api_key: isRunning && row.dialect === 'V1' ? (sandbox?.session_api_key ?? null) : null,
    created_at: row.created_at,
    pr_number: row.pr_number,
    conversation_version: row.dialect,
    sub_conversation_ids: context.store.conversations.childrenOf(row.id),
    public: row.public,
    sandbox_id: row.dialect === 'V1' ? row.sandbox_id : null,
  };
}

async function start(context: AppContext, c: Context): Promise<Response> {
  await readJson(c, conversationStart);
  const row = findConversation(context, c);
  if (row === null) throw new HttpAnswer(404, { status: 'error', conversation_id: givenId(c) });
  const before = statusOf(row, context);
  if (before === 'STOPPED' || before === 'ERROR') {
    if (row.sandbox_id === null || !context.supervisor.resume(row.sandbox_id)) {
      const message = row.start_detail ?? 'The sandbox of this conversation is gone';
      throw new HttpAnswer(409, { status: 'error', conversation_id: row.id, message });
    }
  } else if (before === 'ARCHIVED') {
    const message = 'The sandbox of this conversation was deleted';
    throw new HttpAnswer(410, { status: 'error', conversation_id: row.id, message });
  }
  return json(response(row.id, null, before === 'RUNNING' ? 'RUNNING' : 'STARTING'));
}

async function stop(context: AppContext, c: Context): Promise<Response> {
  const row = findConversation(context, c);
  const before = row === null ? 'STOPPED' : statusOf(row, context);
  const isUp = before === 'RUNNING' || before === 'STARTING';
  if (row?.sandbox_id == null || !isUp) return json(response(givenId(c), 'Conversation was not running', before));
  await context.supervisor.pause(row.sandbox_id);
  return json(response(row.id, 'Conversation stopped successfully', before));
}

function response(id: string, message: string | null, status: string): unknown {
  return { status: 'ok', conversation_id: id, message, conversation_status: status };
}
