/**
 * A small app server with an agent server behind it that accepts every request and follows only
 * some of them: what it ignores, which routes it lacks and what it answers for `/openapi.json` (500
 * unless it is set) is the test's choice. A route that exists answers 405 to a method it lacks, any
 * other path 404, as FastAPI does.
 */
import {
  freshId,
  looseAgentRoutes,
  ordered,
  takeMessage,
  textIn,
  type LooseConversation,
} from './loose-agent.ts';
import { NOT_FOUND, type Asked, type Handler, type Reply } from '../../support/server.ts';
import { KEY, SANDBOX_KEY } from './v1-server.ts';

/** Requests that are answered as usual and have no effect. */
export type Ignored =
  | 'id'
  | 'model'
  | 'title'
  | 'branch'
  | 'rejection'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'delete'
  | 'settings';

export interface LooseOptions {
  /** The answer for `/openapi.json`; 500 without one. */
  openapi?: Reply;
  ignores?: readonly Ignored[];
  /**
   * Whether V0 is served too. Its routes refuse a wrong key; those of V1 then take any key, as
   * 1.4.0 and 1.6.0 do.
   */
  v0?: boolean;
  /**
   * Routes that are not there, as they stand in the tables: `DELETE /api/v1/app-conversations/:id`.
   */
  lacks?: readonly string[];
  /** Working directory of the conversations; commands are carried out there. */
  workspace?: string;
  /**
   * The answer to a start repeats only these members of the request; all of them without a list.
   */
  understands?: readonly string[];
  /** Members that are null in every record of a conversation. */
  omits?: readonly string[];
  /** Members that the answer to a start repeats with these values instead of the requested ones. */
  repeats?: Readonly<Record<string, unknown>>;
}

export interface LooseServer {
  /** Is in its records. */
  url: () => string;
  handler: Handler;
  conversations: Map<string, LooseConversation>;
  /** Status by id. */
  sandboxes: Map<string, string>;
  settings: Record<string, unknown>;
  tasks: Map<string, Record<string, unknown>>;
  options: LooseOptions;
  /** Called before the routes; null: the routes answer. */
  before: (asked: Asked) => Reply | Promise<Reply> | null;
  ignores(what: Ignored): boolean;
}

export type Route = (asked: Asked, param: string) => Reply;
export type Routes = Record<string, Route>;

const DEFAULT_MODEL = 'openai/gpt-4o';

/**
 * A message with CONFIRM makes the agent ask before it acts, one with WORK makes it run until it is
 * stopped.
 */
export function looseServer(url: () => string, options: LooseOptions = {}): LooseServer {
  const server: LooseServer = {
    url,
    handler: (asked) => server.before(asked) ?? answer(server, routes, asked),
    conversations: new Map(),
    sandboxes: new Map(),
    settings: { llm_model: DEFAULT_MODEL, llm_api_key_set: true },
    tasks: new Map(),
    options,
    before: () => null,
    ignores: (what) => options.ignores?.includes(what) ?? false,
  };
  const routes = {
    ...v1Routes(server),
    ...(options.v0 ? v0Routes(server) : {}),
    ...looseAgentRoutes(server),
  };
  for (const name of options.lacks ?? []) delete routes[name];
  return server;
}

function answer(server: LooseServer, routes: Routes, asked: Asked): Reply {
  const { method, path, headers } = asked;
  if (path === '/openapi.json') {
    return (
      server.options.openapi ?? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
    );
  }
  const matching = Object.entries(routes).flatMap(([name, route]) => {
    const [verb = '', pattern = ''] = name.split(' ');
    const match = new RegExp(`^${pattern.replace(/:\w+/g, '([^/]+)')}$`).exec(path);
    return match === null ? [] : [{ verb, route, param: decodeURIComponent(match[1] ?? '') }];
  });
  const [first] = matching;
  if (first === undefined) return NOT_FOUND;
  const isOpen =
    path === '/api/v1/web-client/config' ||
    (server.options.v0 === true && path.startsWith('/api/v1/'));
  const key = path.startsWith('/agent/') ? SANDBOX_KEY : KEY;
  if (!isOpen && headers['x-session-api-key'] !== key)
    return { status: 401, json: { detail: 'Unauthorized' } };
  const found = matching.find(({ verb }) => verb === method);
  if (found === undefined)
    return { status: 405, json: { detail: 'Method Not Allowed' }, headers: { allow: first.verb } };
  return found.route(asked, found.param.replaceAll('-', ''));
}

function v1Routes(server: LooseServer): Routes {
  const { conversations, sandboxes, tasks } = server;
  const record = (id: string) => recordOf(server, conversations.get(id.replaceAll('-', '')));
  const sandbox = (id: string) => (sandboxes.has(id) ? sandboxOf(server, id) : null);
  const setSandbox =
    (what: 'pause' | 'resume', word: string): Route =>
    (_, id) => {
      if (!sandboxes.has(id)) return { status: 404, json: { detail: 'Sandbox not found' } };
      if (!server.ignores(what)) sandboxes.set(id, word);
      return { json: { success: true } };
    };
  return {
    'GET /api/v1/web-client/config': () => ({ json: { app_mode: 'oss', feature_flags: {} } }),
    'GET /api/v1/users/me': () => ({ json: { id: null } }),
    'GET /api/v1/app-conversations/count': () => ({ json: conversations.size }),
    'GET /api/v1/app-conversations/search': ({ query }) => {
      const inSandbox = query.get('sandbox_id__eq');
      const found = [...conversations.values()].filter(
        (one) => inSandbox === null || one.sandboxId === inSandbox,
      );
      return {
        json: { items: found.reverse().map((one) => recordOf(server, one)), next_page_id: null },
      };
    },
    'GET /api/v1/app-conversations': ({ query }) => ({ json: query.getAll('ids').map(record) }),
    'POST /api/v1/app-conversations': ({ body }) => ({
      json: start(server, body as Record<string, unknown>),
    }),
    'GET /api/v1/app-conversations/start-tasks': ({ query }) => ({
      json: query.getAll('ids').map((id) => tasks.get(id.replaceAll('-', '')) ?? null),
    }),
    'GET /api/v1/app-conversations/start-tasks/search': () => ({
      json: { items: [...tasks.values()].reverse(), next_page_id: null },
    }),
    'PATCH /api/v1/app-conversations/:id': (asked, id) =>
      rename(server, id, asked, () => record(id)),
    'DELETE /api/v1/app-conversations/:id': (_, id) => remove(server, id, { success: true }),
    'POST /api/v1/app-conversations/:id/send-message': ({ body }, id) => {
      const conversation = conversations.get(id);
      if (conversation === undefined)
        return { status: 404, json: { detail: 'unknown_app_conversation' } };
      takeMessage(conversation, textIn(body));
      return { json: { success: true, sandbox_status: 'RUNNING', message: null } };
    },
    'GET /api/v1/conversation/:id/events/search': ({ query }, id) => ({
      json: { items: ordered(conversations.get(id)?.events ?? [], query), next_page_id: null },
    }),
    'GET /api/v1/sandboxes/search': () => ({
      json: { items: [...sandboxes.keys()].map(sandbox), next_page_id: null },
    }),
    'GET /api/v1/sandboxes': ({ query }) => ({ json: query.getAll('id').map(sandbox) }),
    'POST /api/v1/sandboxes/:id/pause': setSandbox('pause', 'PAUSED'),
    'POST /api/v1/sandboxes/:id/resume': setSandbox('resume', 'RUNNING'),
    'DELETE /api/v1/sandboxes/:id': (_, id) => {
      if (!server.ignores('delete')) sandboxes.delete(id);
      return { json: { success: true } };
    },
    'GET /api/v1/settings': () => ({
      json: {
        agent_settings: { llm: { model: server.settings['llm_model'] } },
        llm_api_key_set: true,
      },
    }),
    'POST /api/v1/settings': ({ body }) => {
      const diff = (body as { agent_settings_diff?: { llm?: { model?: string } } })
        .agent_settings_diff;
      if (!server.ignores('settings') && diff?.llm?.model !== undefined)
        server.settings['llm_model'] = diff.llm.model;
      return { json: { message: 'Settings stored' } };
    },
  };
}

/**
 * The routes of V0 that know conversations of V1, and those that are the only ones of their kind up
 * to 1.6.0.
 */
function v0Routes(server: LooseServer): Routes {
  return {
    'GET /api/options/config': () => ({ json: { APP_MODE: 'oss', FEATURE_FLAGS: {} } }),
    'GET /api/conversations': () => ({ json: { results: [], next_page_id: null } }),
    'GET /api/conversations/:id': () => ({ json: null }),
    'PATCH /api/conversations/:id': (asked, id) => rename(server, id, asked, () => true),
    'DELETE /api/conversations/:id': (_, id) => remove(server, id, true),
    'GET /api/settings': () => ({ json: server.settings }),
    'POST /api/settings': ({ body }) => {
      if (!server.ignores('settings')) Object.assign(server.settings, body);
      return { json: { message: 'Settings stored' } };
    },
    'GET /api/secrets': () => ({ json: { custom_secrets: [] } }),
  };
}

function start(server: LooseServer, body: Record<string, unknown>): Record<string, unknown> {
  const text = (name: string): string | null =>
    typeof body[name] === 'string' ? body[name] : null;
  const asked = text('conversation_id')?.replaceAll('-', '');
  const id = asked === undefined || server.ignores('id') ? freshId() : asked;
  const sandboxId = text('sandbox_id') ?? `sandbox${freshId().slice(8, 12)}`;
  server.sandboxes.set(sandboxId, 'RUNNING');
  const conversation: LooseConversation = {
    id,
    title: `Conversation ${id.slice(0, 5)}`,
    model: server.ignores('model') ? DEFAULT_MODEL : (text('llm_model') ?? DEFAULT_MODEL),
    branch: server.ignores('branch') ? 'main' : text('selected_branch'),
    repository: text('selected_repository'),
    sandboxId,
    state: 'idle',
    policy: 'NeverConfirm',
    created_at: new Date().toISOString(),
    events: [],
  };
  server.conversations.set(id, conversation);
  const message = textIn(body['initial_message']);
  if (message !== '') takeMessage(conversation, message);
  const known = server.options.understands;
  const understood = Object.entries(body).filter(([name]) => known?.includes(name) ?? true);
  const echo = { ...Object.fromEntries(understood), ...server.options.repeats };
  const task = {
    id: freshId(),
    status: 'READY',
    detail: null,
    app_conversation_id: id,
    sandbox_id: sandboxId,
    request: echo,
    created_at: new Date().toISOString(),
    updated_at: new Date().toISOString(),
  };
  server.tasks.set(task.id, task);
  return { ...task, status: 'WORKING', app_conversation_id: null };
}

function rename(server: LooseServer, id: string, { body }: Asked, reply: () => unknown): Reply {
  const conversation = server.conversations.get(id);
  if (conversation === undefined)
    return { status: 404, json: { detail: 'unknown_app_conversation' } };
  if (!server.ignores('title')) conversation.title = String((body as { title?: unknown }).title);
  return { json: reply() };
}

function remove(server: LooseServer, id: string, json: unknown): Reply {
  if (!server.conversations.has(id))
    return { status: 404, json: { detail: 'unknown_app_conversation' } };
  if (!server.ignores('delete')) server.conversations.delete(id);
  return { json };
}

function recordOf(
  server: LooseServer,
  conversation: LooseConversation | undefined,
): Record<string, unknown> | null {
  if (conversation === undefined) return null;
  const { id, title, model, branch, repository, sandboxId, state } = conversation;
  const sandboxStatus = server.sandboxes.get(sandboxId) ?? 'MISSING';
  const isUp = sandboxStatus === 'RUNNING';
  return {
    id,
    title,
    sandbox_id: sandboxId,
    selected_repository: repository,
    selected_branch: branch,
    git_provider: null,
    tags: { archiveworkspacepath: '.' },
    llm_model: model,
    created_at: '2026-11-21T10:12:30.053480Z',
    updated_at: '2026-11-21T10:12:39.352171Z',
    sandbox_status: sandboxStatus,
    execution_status: isUp ? state : null,
    conversation_url: isUp ? `${server.url()}/agent/api/conversations/${id}` : null,
    session_api_key: isUp ? SANDBOX_KEY : null,
    metrics: null,
    ...Object.fromEntries((server.options.omits ?? []).map((name) => [name, null])),
  };
}

function sandboxOf(server: LooseServer, id: string): Record<string, unknown> {
  return {
    id,
    sandbox_spec_id: 'default',
    status: server.sandboxes.get(id),
    session_api_key: SANDBOX_KEY,
    exposed_urls: [],
    created_at: '2026-11-21T10:12:30.053480Z',
  };
}
