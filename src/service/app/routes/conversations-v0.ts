/**
 * Conversations of V0, their events, and the files in their workspaces, which are read inside the
 * sandbox (interface section 3).
 */
import type { Context } from 'hono';
import { toHexId } from '../../../protocol/detail.ts';
import * as v0 from '../../../protocol/v0/requests.ts';
import { HttpError, refuse } from '../../http/answer.ts';
import { POSITION, present } from '../../http/request.ts';
import { body, query, type Handlers } from '../../http/route.ts';
import {
  jsonOf,
  textOf,
  type AgentAnswer,
  type AgentRequest,
} from '../../sandboxes/agent-client.ts';
import { SandboxUnavailable } from '../../sandboxes/supervisor.ts';
import type { AppRoute } from '../../http/served-routes.ts';
import {
  defaultTitle,
  type ConversationFilter,
  type ConversationRow,
} from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { removeConversation, sandboxOf, workspacePath } from '../conversations.ts';
import { connectedForgejo } from '../../settings/git-providers.ts';
import { repositoryForm } from '../repository.ts';
import { StartRefused, startFromV0 } from '../starts/start-request.ts';
import { AGENT_STATES, createV0EventReader } from '../v0-events.ts';
import { cut } from '../../../base/text/well-formed.ts';

const MAX_LIMIT = 500;
const MAX_EVENTS = 100;

const STATUSES = {
  STARTING: ['STARTING', 'STATUS$STARTING_RUNTIME'],
  RUNNING: ['RUNNING', 'STATUS$RUNTIME_STARTED'],
  PAUSED: ['STOPPED', null],
  ERROR: ['ERROR', 'STATUS$ERROR'],
  MISSING: ['ARCHIVED', null],
} as const;

const LETTERS: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };
/** By the state of the agent that a client asks for. */
const ROUTES = new Map([
  ['paused', 'pause'],
  ['stopped', 'interrupt'],
  ['running', 'run'],
]);

function givenId(c: Context): string {
  const id = c.req.param('conversation_id') ?? '';
  if (id.length > 100) throw refuse(400, 'Conversation ID is too long');
  if (/\.\.|[/\\\u0000]/.test(id))
    throw refuse(400, 'Conversation ID contains invalid path characters');
  return id;
}

/**
 * A conversation of either dialect: V0 lists, shows, renames and deletes those of V1 too. Null: not
 * found.
 */
function findConversation({ store }: AppContext, c: Context): ConversationRow | null {
  const id = toHexId(givenId(c));
  return id === null ? null : store.conversations.get(id);
}

/** A conversation of V0; null for any other: V0 does not reach the runs of V1. */
function findOwn(context: AppContext, c: Context): ConversationRow | null {
  const row = findConversation(context, c);
  return row?.dialect === 'V0' ? row : null;
}

export function conversationHandlersV0(context: AppContext): Handlers<AppRoute> {
  const { store, supervisor } = context;
  const statusOf = (row: ConversationRow) => STATUSES[sandboxOf(row, context).state][0];
  const answer = (
    conversation_id: string,
    message: string | null,
    conversation_status: string,
  ) => ({
    status: 'ok',
    conversation_id,
    message,
    conversation_status,
  });
  const readEvents = createV0EventReader(context.logs);
  const rowOf = (c: Context): ConversationRow => {
    const row = findOwn(context, c);
    if (row === null) throw refuse(404, `Conversation ${givenId(c)} not found`);
    return row;
  };
  /** A conversation whose sandbox runs. `refusal`: the error for another one. */
  const runningRow = (c: Context, refusal: (id: string) => HttpError): ConversationRow => {
    const row = rowOf(c);
    if (row.start_state !== 'ready' || sandboxOf(row, context).state !== 'RUNNING')
      throw refusal(row.id);
    return row;
  };
  const send = async (row: ConversationRow, request: AgentRequest): Promise<AgentAnswer> => {
    try {
      return await supervisor.send(row.sandbox_id ?? '', request);
    } catch (error) {
      if (error instanceof SandboxUnavailable) throw new HttpError(503, { error: error.message });
      throw error;
    }
  };
  const readFile = (c: Context, path: string, given: string): Promise<AgentAnswer> => {
    const unavailable = (id: string) =>
      new HttpError(404, { error: `Runtime not available for conversation ${id}` });
    const row = runningRow(c, unavailable);
    return send(row, { method: 'GET', path, query: { path: workspacePath(row, given) } });
  };
  const readGit = async (c: Context, path: string, given: string): Promise<unknown> => {
    const answer = await readFile(c, path, given);
    if (answer.status === 200) return jsonOf(answer);
    throw new HttpError(answer.status < 500 ? answer.status : 502, { error: textOf(answer) });
  };
  return {
    'POST /api/conversations': body(v0.conversationCreate, async (given, c) => {
      const id = toHexId(given.conversation_id ?? '');
      const existing = id === null ? null : store.conversations.get(id);
      // While a conversation of V1 starts it has a task and no record.
      const isStarting = existing === null && id !== null;
      if (
        existing?.dialect === 'V1' ||
        (isStarting && store.startTasks.count({ dialect: 'V1', conversationId: id }) > 0)
      ) {
        const message = `Conversation ${id} belongs to V1`;
        throw new HttpError(409, { status: 'error', message, msg_id: 'CONVERSATION$EXISTS' });
      }
      let trigger = /^Bearer\s/i.test(c.req.header('authorization') ?? '')
        ? 'openhands_api'
        : 'gui';
      if (given.create_microagent != null) trigger = 'microagent_management';
      if (given.suggested_task != null) trigger = 'suggested_task';
      try {
        const wanted = startFromV0(given, context, trigger);
        const { cloneFrom, provider } = wanted;
        if (cloneFrom !== null) {
          const form = repositoryForm(cloneFrom);
          const forgejo =
            provider === 'forgejo' && form === 'name' ? connectedForgejo(store.documents) : null;
          // Without an answer of the host, git decides.
          const exists = (await forgejo?.hasRepository(cloneFrom).catch(() => true)) ?? true;
          if (!exists || form === null || (form === 'name' && provider === null)) {
            throw new HttpError(401, `Unable to access repo ${wanted.row.repository}`);
          }
        }
        const { conversation_id } = context.starter.begin(wanted);
        const row = store.conversations.get(conversation_id);
        return answer(conversation_id, null, row === null ? 'STARTING' : statusOf(row));
      } catch (error) {
        if (!(error instanceof StartRefused)) throw error;
        throw new HttpError(400, {
          status: 'error',
          message: error.message,
          msg_id: error.messageId,
        });
      }
    }),
    'GET /api/conversations': query(v0.conversationListQuery, (given) => {
      // Both dialects, newest first. A position for each; null: no more of it.
      const from = given.page_id === undefined ? { V0: '0', V1: '0' } : positionIn(given.page_id);
      const filter: ConversationFilter = {
        topLevelOnly: !given.include_sub_conversations,
        ...present({ repository: given.selected_repository, trigger: given.conversation_trigger }),
      };
      const limit = Math.min(given.limit, MAX_LIMIT);
      const ahead = (['V0', 'V1'] as const).flatMap((dialect) => {
        const position = from[dialect];
        return position === null
          ? []
          : store.conversations.page({ ...filter, dialect }, limit + 1, position);
      });
      ahead.sort((one, other) =>
        one.created_at < other.created_at ? 1 : one.created_at > other.created_at ? -1 : 0,
      );
      const rows = ahead.slice(0, limit);
      const left = ahead.slice(limit);
      const next = (dialect: 'V0' | 'V1'): string | null =>
        left.some((row) => row.dialect === dialect)
          ? (rows.at(-1)?.created_at ?? from[dialect])
          : null;
      const v0Next = next('V0');
      // JSON in base64, as on genuine servers: the position in V0 is in base64 once more.
      const position = {
        v0: v0Next === null ? null : Buffer.from(v0Next).toString('base64'),
        v1: next('V1'),
      };
      return {
        results: rows.map((row) => conversationInfo(row, context)),
        next_page_id:
          left.length > 0 ? Buffer.from(JSON.stringify(position)).toString('base64') : null,
      };
    }),
    'GET /api/conversations/{conversation_id}': (c) => {
      const row = findConversation(context, c);
      return row === null ? null : conversationInfo(row, context);
    },
    'PATCH /api/conversations/{conversation_id}': body(v0.conversationPatch, ({ title }, c) => {
      const row = findConversation(context, c);
      if (row === null) {
        const message = 'Conversation not found';
        throw new HttpError(404, { status: 'error', message, msg_id: 'CONVERSATION$NOT_FOUND' });
      }
      store.conversations.update(row.id, { title, updated_at: context.clock.stamp() });
      return true;
    }),
    'DELETE /api/conversations/{conversation_id}': async (c) => {
      const row = findConversation(context, c);
      return row !== null && (await removeConversation(context, row.id));
    },
    'POST /api/conversations/{conversation_id}/start': body(v0.conversationStart, async (_, c) => {
      const row = findOwn(context, c);
      if (row === null) throw new HttpError(404, { status: 'error', conversation_id: givenId(c) });
      const refusal = (status: number, message: string) =>
        new HttpError(status, { status: 'error', conversation_id: row.id, message });
      const before = statusOf(row);
      if (before === 'ARCHIVED') throw refusal(410, 'The sandbox of this conversation was deleted');
      // Also while it runs: a stop may be queued.
      const isResumed = row.sandbox_id !== null && (await supervisor.resume(row.sandbox_id));
      if (!isResumed && before !== 'STARTING') {
        throw refusal(409, row.start_detail ?? 'The sandbox of this conversation is gone');
      }
      return answer(row.id, null, before === 'RUNNING' ? 'RUNNING' : 'STARTING');
    }),
    'POST /api/conversations/{conversation_id}/stop': async (c) => {
      const row = findOwn(context, c);
      const before = row === null ? 'STOPPED' : statusOf(row);
      const isUp = before === 'RUNNING' || before === 'STARTING';
      if (row?.sandbox_id == null || !isUp)
        return answer(givenId(c), 'Conversation was not running', before);
      await supervisor.pause(row.sandbox_id);
      return answer(row.id, 'Conversation stopped successfully', before);
    },
    'GET /api/conversations/{conversation_id}/events': query(v0.eventListQuery, (given, c) => {
      const { limit, start_id, end_id, reverse } = given;
      if (limit < 0 || limit > MAX_EVENTS) throw refuse(400, 'Invalid limit');
      const range = readEvents(rowOf(c)).slice(
        Math.max(0, start_id),
        end_id === undefined ? undefined : end_id + 1,
      );
      if (reverse) range.reverse();
      return { events: range.slice(0, limit), has_more: range.length > limit };
    }),
    'POST /api/conversations/{conversation_id}/events': body(
      v0.eventPost,
      async ({ action, args }, c) => {
        const row = runningRow(c, (id) => {
          const error = `Error adding message to conversation: no_conversation:${id}`;
          return new HttpError(409, { success: false, error });
        });
        const [route, json] = requestOf(context, row, action, args);
        const path = route.startsWith('/') ? route : `/api/conversations/${row.id}/${route}`;
        const answer = await send(row, { method: 'POST', path, json });
        if (answer.status < 400) return { success: true };
        const isPassedOn = answer.status < 500 || answer.status === 507;
        throw new HttpError(isPassedOn ? answer.status : 502, {
          success: false,
          error: textOf(answer),
        });
      },
    ),
    'GET /api/conversations/{conversation_id}/select-file': query(
      v0.selectFileQuery,
      async ({ file }, c) => {
        const answer = await readFile(c, '/api/file/download', file);
        const named = cut(file, 300);
        if (answer.status !== 200)
          throw new HttpError(404, { error: `Error opening file: ${named}: ${textOf(answer)}` });
        if (answer.body.includes(0))
          throw new HttpError(415, { error: `Unable to open binary file: ${named}` });
        return { code: answer.body.toString('utf8') };
      },
    ),
    'GET /api/conversations/{conversation_id}/git/changes': async (c) => {
      const changes = (await readGit(c, '/api/git/changes', '.')) as
        { status: string; path: string }[] | null;
      return (changes ?? []).map(({ status, path }) => ({ status: LETTERS[status] ?? 'M', path }));
    },
    'GET /api/conversations/{conversation_id}/git/diff': query(v0.gitDiffQuery, ({ path }, c) =>
      readGit(c, '/api/git/diff', path),
    ),
  };
}

function conversationInfo(row: ConversationRow, context: AppContext): unknown {
  const { sandbox, state } = sandboxOf(row, context);
  const [status, runtimeStatus] = STATUSES[state];
  const isV1 = row.dialect === 'V1';
  const isRunning = state === 'RUNNING';
  // A conversation of V1 is reached at its agent server, in a sandbox that has a status of its own;
  // one of V0 here.
  const agent = isV1 && isRunning ? sandbox : null;
  const origin = agent === null ? '' : `http://127.0.0.1:${agent.port}`;
  const { execution_status: run } = row;
  return {
    conversation_id: row.id,
    title: row.title ?? defaultTitle(row.id),
    last_updated_at: row.updated_at,
    status,
    runtime_status: agent === null ? runtimeStatus : 'STATUS$READY',
    selected_repository: row.repository,
    selected_branch: row.branch,
    git_provider: row.git_provider,
    trigger: row.trigger,
    num_connections: 0,
    url: isRunning ? `${origin}/api/conversations/${row.id}` : null,
    session_api_key: agent?.session_api_key ?? null,
    created_at: row.created_at,
    pr_number: row.pr_number,
    conversation_version: row.dialect,
    sub_conversation_ids: context.store.conversations.childrenOf(row.id),
    public: row.public,
    sandbox_id: isV1 ? row.sandbox_id : null,
    // Sent by the local service only: its V0 conversations run in sandboxes too. Without V1 no
    // route takes the id.
    ...(context.api === 'v0' ? {} : { local_sandbox_id: row.sandbox_id }),
    // Sent by the local service only: at other servers the status of a V0 run is in its events
    // alone.
    ...(isV1
      ? {}
      : {
          local_agent_state:
            run === 'idle' ? 'awaiting_user_input' : (AGENT_STATES[run ?? ''] ?? null),
        }),
    // Likewise: an agent may have removed the files that show other servers' clones.
    ...(row.base_commit === null ? {} : { local_base_commit: row.base_commit }),
  };
}

function positionIn(pageId: string): Record<'V0' | 'V1', string | null> {
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
  try {
    const given = JSON.parse(decoded(pageId)) as { v0: string | null; v1: string | null };
    const position = { V0: given.v0 === null ? null : decoded(given.v0), V1: given.v1 };
    if (Object.values(position).every((each) => each === null || POSITION.test(each)))
      return position;
  } catch {
    // refused below
  }
  throw refuse(400, 'Invalid page_id');
}

function requestOf(
  { logs }: AppContext,
  row: ConversationRow,
  action: string,
  args: Record<string, unknown>,
): [route: string, body: unknown] {
  if (action === 'message') {
    const { content: text, image_urls: given } = args;
    if (typeof text !== 'string') throw refuse(400, 'A message needs args.content');
    const image_urls = Array.isArray(given) ? given.filter((url) => typeof url === 'string') : [];
    const content = [
      { type: 'text', text },
      ...(image_urls.length === 0 ? [] : [{ type: 'image', image_urls }]),
    ];
    return ['events', { role: 'user', content, run: true }];
  }
  if (action === 'run') {
    if (typeof args.command !== 'string') throw refuse(400, 'A run needs args.command');
    return [`/local/conversations/${row.id}/user_command`, { command: args.command }];
  }
  if (action !== 'change_agent_state') {
    const taken = 'message, run and change_agent_state';
    throw refuse(400, `The local service takes the actions ${taken}, not '${cut(action, 50)}'`);
  }
  const state = String(args.agent_state);
  const route = ROUTES.get(state);
  if (route !== undefined) return [route, {}];
  if (state !== 'user_confirmed' && state !== 'user_rejected') {
    throw refuse(400, `agent_state cannot be set to '${cut(state, 50)}'`);
  }
  // A genuine server accepts this in any state. The log may be ahead of the store.
  const status =
    logs.read(row, (log) => log.read('state')?.execution_status) ?? row.execution_status;
  if (status !== 'waiting_for_confirmation')
    throw refuse(409, 'No action waits for a confirmation');
  const accept = state === 'user_confirmed';
  return [
    'events/respond_to_confirmation',
    { accept, reason: `${accept ? 'Accepted' : 'Rejected'} by the user` },
  ];
}
