/** A V1 server whose conversations, start tasks and events a test changes, and the recorded answers of genuine servers. */
import { readFileSync } from 'node:fs';
import {
  NOT_FOUND,
  startFake,
  type Asked,
  type FakeServer,
  type Handler,
  type Reply,
} from '../../support/server.ts';

interface Recorded {
  status: number;
  content_type: string;
  body: unknown;
}

export function recordings(release: '1.11.0' | '1.6.0' | 'agent-canvas-1.20.0'): {
  body(name: string): unknown;
  reply(name: string): Reply;
} {
  const file = new URL(`../../fixtures/recordings/${release}.json`, import.meta.url);
  const all = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>;
  const find = (name: string): Recorded => {
    const found = all[name];
    if (found === undefined) throw new Error(`no recording ${name}`);
    return found;
  };
  return {
    body: (name) => find(name).body,
    reply: (name) => ({ status: find(name).status, json: find(name).body }),
  };
}

export const KEY = 'app-key-0123456789';
export const SANDBOX_KEY = 'sandbox-key-987654321';
export const ID = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
export const OTHER_ID = 'ffeeddccbbaa00998877665544332211';

export interface V1Server {
  conversations: Map<string, Record<string, unknown>>;
  tasks: Map<string, Record<string, unknown>>;
  /** The events of the app server, and those of the sandbox. */
  appEvents: Record<string, unknown>[];
  agentEvents: Record<string, unknown>[];
  /** Called before the routes; null: the routes answer. */
  before: (asked: Asked) => Reply | Promise<Reply> | null;
  agentState: Record<string, unknown>;
  /** Null: the server has no routes for sandboxes. */
  sandboxes: Map<string, SandboxRecord> | null;
  addConversation(members?: Record<string, unknown>): Record<string, unknown>;
  /** Adds a sandbox, and the routes for sandboxes. */
  addSandbox(id: string, members?: Partial<SandboxRecord>): SandboxRecord;
  handler: Handler;
}

export type V1World = V1Server & { fake: FakeServer; close(): Promise<void> };

export interface SandboxRecord {
  id: string;
  status: string;
  sandbox_spec_id: string;
  session_api_key: string | null;
  exposed_urls: unknown;
  created_at: string;
  [name: string]: unknown;
}

export async function createV1World(release: '1.11.0' | '1.6.0' = '1.11.0'): Promise<V1World> {
  const fake = await startFake(() => NOT_FOUND);
  const server = Object.assign(
    v1Server(() => fake.url, release),
    { fake, close: () => fake.close() },
  );
  fake.handler = server.handler;
  return server;
}

/** @param url of the server, which is in its records */
export function v1Server(url: () => string, release: '1.11.0' | '1.6.0' = '1.11.0'): V1Server {
  const recorded = recordings(release);
  const server: V1Server = {
    conversations: new Map(),
    tasks: new Map(),
    appEvents: [],
    agentEvents: [],
    before: () => null,
    agentState: {
      id: ID,
      execution_status: 'running',
      workspace: { working_dir: '/workspace/project' },
    },
    sandboxes: null,
    addConversation(members = {}) {
      const record = { ...baseRecord(url()), ...members };
      server.conversations.set(record.id, record);
      return record;
    },
    addSandbox(id, members = {}) {
      const record = { ...SANDBOX, id, ...members };
      server.sandboxes ??= new Map();
      server.sandboxes.set(id, record);
      return record;
    },
    handler(asked) {
      const special = server.before(asked);
      if (special !== null) return special;
      if (asked.path === '/openapi.json') return recorded.reply('probe.openapi');
      if (asked.path === '/api/v1/web-client/config') return recorded.reply('probe.web-client');
      return answer(server, asked);
    },
  };
  return server;
}

const SANDBOX: SandboxRecord = {
  id: '',
  status: 'RUNNING',
  sandbox_spec_id: 'image',
  session_api_key: SANDBOX_KEY,
  exposed_urls: null,
  created_at: '2026-03-01T10:00:00Z',
};

function baseRecord(url: string) {
  return {
    id: ID,
    title: 'A title',
    sandbox_id: 'sb1',
    selected_repository: null as string | null,
    selected_branch: null as string | null,
    git_provider: null as string | null,
    tags: { archiveworkspacepath: '.' } as Record<string, string>,
    llm_model: 'openai/gpt-4o',
    created_at: '2026-11-21T10:12:30.053480Z',
    updated_at: '2026-11-21T10:12:39.352171Z',
    sandbox_status: 'RUNNING',
    execution_status: 'running' as string | null,
    conversation_url: `${url}/agent/api/conversations/${ID}` as string | null,
    session_api_key: SANDBOX_KEY as string | null,
    metrics: {
      accumulated_cost: 0.00045,
      accumulated_token_usage: { prompt_tokens: 100, completion_tokens: 20 },
    },
  };
}

function answer(world: V1Server, asked: Asked): Reply {
  const { path, query, method } = asked;
  if (path.startsWith('/agent/')) return answerAgent(world, asked);
  if (asked.headers['x-session-api-key'] !== KEY)
    return { status: 401, json: { detail: 'Unauthorized' } };
  const batch = (records: Map<string, unknown>, name: string): Reply => ({
    json: query.getAll(name).map((id) => records.get(id.replaceAll('-', '')) ?? null),
  });
  switch (`${method} ${path}`) {
    case 'GET /api/v1/app-conversations/count':
      return { json: world.conversations.size };
    case 'GET /api/v1/app-conversations':
      return batch(world.conversations, 'ids');
    case 'GET /api/v1/app-conversations/search':
      return { json: page(ofSandbox([...world.conversations.values()].reverse(), query), query) };
    case 'GET /api/v1/app-conversations/start-tasks':
      return batch(world.tasks, 'ids');
    case 'GET /api/v1/app-conversations/start-tasks/search':
      return { json: { items: [...world.tasks.values()].reverse(), next_page_id: null } };
    default:
      if (/^\/api\/v1\/conversation\/\w+\/events\/search$/.test(path))
        return { json: page(filtered(world.appEvents, query, 'kind__eq'), query) };
      return (world.sandboxes && answerSandboxes(world.sandboxes, asked)) ?? NOT_FOUND;
  }
}

function ofSandbox<Each extends { sandbox_id?: unknown }>(
  conversations: Each[],
  query: URLSearchParams,
): Each[] {
  const wanted = query.get('sandbox_id__eq');
  return conversations.filter(({ sandbox_id }) => wanted === null || sandbox_id === wanted);
}

function answerSandboxes(
  sandboxes: Map<string, SandboxRecord>,
  { method, path, query }: Asked,
): Reply | null {
  const [, id = '', verb] = /^\/api\/v1\/sandboxes\/([\w-]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const found = sandboxes.get(id);
  switch (`${method} ${path}`) {
    case 'GET /api/v1/sandbox-specs/search':
      return { json: { items: [{ id: 'image' }, { id: 'other' }], next_page_id: null } };
    case 'GET /api/v1/sandboxes/search':
      return { json: page([...sandboxes.values()].reverse(), query) };
    case 'GET /api/v1/sandboxes':
      return { json: query.getAll('id').map((each) => sandboxes.get(each) ?? null) };
    case 'POST /api/v1/sandboxes': {
      const made = {
        ...SANDBOX,
        id: `made-${sandboxes.size}`,
        sandbox_spec_id: query.get('sandbox_spec_id') ?? 'image',
      };
      sandboxes.set(made.id, made);
      return { json: { ...made, status: 'STARTING' } };
    }
    case `DELETE /api/v1/sandboxes/${id}`:
      return sandboxes.delete(id) ? { json: { success: true } } : NOT_FOUND;
    case `POST /api/v1/sandboxes/${id}/${verb}`:
      if (found === undefined) return NOT_FOUND;
      found.status = verb === 'pause' ? 'PAUSED' : 'RUNNING';
      return { json: { success: true } };
    default:
      return null;
  }
}

function answerAgent(world: V1Server, { path, query, headers, method }: Asked): Reply {
  if (headers['x-session-api-key'] !== SANDBOX_KEY)
    return { status: 401, json: { detail: 'Unauthorized' } };
  if (method === 'GET' && path.endsWith('/events/search'))
    return { json: page(filtered(world.agentEvents, query, 'kind'), query) };
  if (method === 'GET' && /^\/agent\/api\/conversations\/\w+$/.test(path))
    return { json: world.agentState };
  return NOT_FOUND;
}

function filtered(
  events: Record<string, unknown>[],
  query: URLSearchParams,
  kindName: string,
): Record<string, unknown>[] {
  const kind = query.get(kindName);
  const since = query.get('timestamp__gte');
  const found = events.filter(
    (event) =>
      (kind === null || event['kind'] === kind) &&
      (since === null || String(event['timestamp']) >= since),
  );
  return query.get('sort_order') === 'TIMESTAMP_DESC' ? found.toReversed() : found;
}

/** Offset paging, as servers do it. */
function page<T>(all: T[], query: URLSearchParams): { items: T[]; next_page_id: string | null } {
  const start = Number(query.get('page_id') ?? 0);
  const limit = Number(query.get('limit') ?? 100);
  const end = start + limit;
  return { items: all.slice(start, end), next_page_id: end < all.length ? String(end) : null };
}

let clockTick = 0;

/** An event with a fresh id and a later time than the one before. */
export function event(
  kind: string,
  members: Record<string, unknown> = {},
): Record<string, unknown> {
  clockTick += 1;
  const time = new Date(Date.UTC(2026, 10, 21, 10, 0, 0) + clockTick * 10)
    .toISOString()
    .replace('Z', '000');
  return {
    id: `00000000-0000-4000-8000-${String(clockTick).padStart(12, '0')}`,
    timestamp: time,
    source: 'agent',
    kind,
    ...members,
  };
}

export function userMessage(text: string): Record<string, unknown> {
  return event('MessageEvent', {
    source: 'user',
    llm_message: { role: 'user', content: [{ type: 'text', text }] },
  });
}

export function agentMessage(text: string): Record<string, unknown> {
  return event('MessageEvent', {
    llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
  });
}

export function finish(message: string): Record<string, unknown> {
  return event('ActionEvent', { tool_name: 'finish', action: { kind: 'FinishAction', message } });
}

export function status(word: string): Record<string, unknown> {
  return event('ConversationStateUpdateEvent', {
    source: 'environment',
    key: 'execution_status',
    value: word,
  });
}
