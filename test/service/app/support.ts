/**
 * An app server in this process: real store, real supervisor, real git; requests are plain calls.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { APP_ROUTES, createApp } from '../../../src/service/app/app.ts';
import { createAppContext, type AppContext } from '../../../src/service/app/context.ts';
import { createClock } from '../../../src/service/lifecycle/clock.ts';
import { dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import { newSandbox, specChoice } from '../../../src/service/sandboxes/specs.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import type { ServiceApi } from '../../../src/service/index.ts';
import type { SandboxSpecName } from '../../../src/service/base/worker-protocol.ts';
import { conversationRow } from '../storage/support.ts';
import { expectDocumented } from '../openapi/documented.ts';

export const PACKAGE_ROOT = path.resolve(import.meta.dirname, '../../..');
export const KEY = 'test-key-4711';

export interface Answer {
  status: number;
  headers: Headers;
  // The body as it came; tests look into it freely.
  body: unknown;
}

export interface TestApp {
  dir: string;
  store: Store;
  context: AppContext;
  /** A request that brings the key, unless the headers say otherwise. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  close(): Promise<void>;
}

export interface TestAppOptions {
  api?: ServiceApi;
  spec?: SandboxSpecName;
  maxRunning?: number;
  /** Default 0. */
  keepMs?: number;
  whyNoBubblewrap?: string;
}

export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const dir = await mkdtemp(path.join(tmpdir(), 'acs-app-'));
  const paths = dataPaths(dir);
  const store = openStore(paths.database);
  const env = { PATH: process.env.PATH, HOME: dir };
  const { spec = null, whyNoBubblewrap = null } = options;
  // Where bubblewrap does not work, the default is `process`; tests of the app server alone need no
  // isolation.
  const specs = specChoice(spec ?? (whyNoBubblewrap === null ? 'process' : null), whyNoBubblewrap);
  const { maxRunning, keepMs = 0, api = 'both' } = options;
  const context = createAppContext(
    {
      store,
      clock: createClock(),
      key: KEY,
      api,
      host: '127.0.0.1',
      version: '0.0.0-test',
      root: PACKAGE_ROOT,
      specs,
      log: () => undefined,
      faults: [],
      defaultReplay: null,
    },
    paths,
    { env, keepMs, ...(maxRunning === undefined ? {} : { maxRunning }) },
  );
  const app = createApp(context);
  return {
    dir,
    store,
    context,
    async call(method, target, body, headers = { 'X-Session-API-Key': KEY }) {
      const answer = await app.request(`http://127.0.0.1${target}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await answer.text();
      let parsed: unknown = text;
      try {
        parsed = JSON.parse(text);
      } catch {
        // a text
      }
      const { status, headers: given } = answer;
      expectDocumented(APP_ROUTES, { method, path: target, status, headers: given, body: parsed });
      return { status, headers: given, body: parsed };
    },
    async close() {
      await context.stop();
      context.close();
      store.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** An app server whose members can be read while tests run. */
export interface AppOfTests extends Omit<TestApp, 'close'> {
  /** The body of the answer. */
  get: <Body = Record<string, unknown>>(path: string) => Promise<Body>;
  post: (path: string, body?: unknown) => Promise<Answer>;
}

/** One app server for the tests of the enclosing suite, closed after them. */
export function appOfSuite(options?: TestAppOptions): AppOfTests {
  return appBetween(beforeAll, afterAll, options);
}

/** An app server for each test of the enclosing suite, closed after it. */
export function appOfEachTest(options?: TestAppOptions): AppOfTests {
  return appBetween(beforeEach, afterEach, options);
}

type Hook = (run: () => Promise<void>) => void;

function appBetween(before: Hook, after: Hook, options?: TestAppOptions): AppOfTests {
  const app = {
    get: async (target: string) => (await app.call('GET', target)).body,
    post: (target: string, body?: unknown) => app.call('POST', target, body),
  } as AppOfTests & Pick<TestApp, 'close'>;
  before(async () => {
    Object.assign(app, await createTestApp(options));
  });
  after(() => app.close());
  return app;
}

/**
 * `METHOD /path` (the method is not named for a GET), the body, the status of the answer, and
 * members of its body.
 */
export type Exchange = readonly [request: string, body: unknown, status: number, answer?: unknown];

/** Sends the requests one after another and compares each answer. */
export async function expectAnswers(
  app: Pick<TestApp, 'call'>,
  exchanges: readonly Exchange[],
): Promise<void> {
  for (const [request, body, status, expected] of exchanges) {
    const [path = '', method = 'GET'] = request.split(' ').reverse();
    const answer = await app.call(method, path, body);
    const { body: seen = null } = expected === undefined ? {} : answer;
    expect({ request, status: answer.status, body: seen }).toMatchObject({
      request,
      status,
      body: expected ?? null,
    });
  }
}

/** How many events of a conversation the app server has, at most 100; `query` begins with `&`. */
export async function countEvents(
  app: Pick<TestApp, 'call'>,
  id: unknown,
  query = '',
): Promise<number> {
  const { body } = await app.call(
    'GET',
    `/api/v1/conversation/${String(id)}/events/search?limit=100${query}`,
  );
  return (body as { items: unknown[] }).items.length;
}

/**
 * Repeats the request until the answer is right (by default: true of it); fails with the last one
 * when it never is.
 */
export async function until<Value>(
  ask: () => Promise<Value> | Value,
  isRight: (value: Value) => boolean = Boolean,
): Promise<Value> {
  const end = performance.now() + 60_000;
  for (;;) {
    const value = await ask();
    if (isRight(value)) return value;
    if (performance.now() > end)
      throw new Error(`never came: the last was ${JSON.stringify(value)?.slice(0, 1000)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export interface Task {
  id: string;
  status: string;
  detail: string | null;
  app_conversation_id: string | null;
  sandbox_id: string | null;
  agent_server_url: string | null;
  request: Record<string, unknown>;
}

/** Starts a conversation over V1 and waits for the end of its task. */
export async function startedTask(app: Pick<TestApp, 'call'>, body: unknown): Promise<Task> {
  const created = await app.call('POST', '/api/v1/app-conversations', body);
  if (created.status !== 200)
    throw new Error(`not started: ${created.status} ${JSON.stringify(created.body)}`);
  return endedTask(app, (created.body as Task).id);
}

/** The start task once it has ended. */
export async function endedTask(app: Pick<TestApp, 'call'>, id: string): Promise<Task> {
  return until(
    async () =>
      (
        (await app.call('GET', `/api/v1/app-conversations/start-tasks?ids=${id}`)).body as Task[]
      )[0] as Task,
    (task) => task.status === 'READY' || task.status === 'ERROR',
  );
}

export interface Shown {
  id: string;
  sandbox_id: string;
  sandbox_status: string;
  execution_status: string | null;
  title: string | null;
  tags: Record<string, string>;
  [member: string]: unknown;
}

export async function conversation(app: Pick<TestApp, 'call'>, id: string): Promise<Shown | null> {
  return (
    ((await app.call('GET', `/api/v1/app-conversations?ids=${id}`)).body as (Shown | null)[])[0] ??
    null
  );
}

/** The conversation once it has these members. */
export function untilShown(
  app: Pick<TestApp, 'call'>,
  id: string,
  members: Partial<Shown>,
): Promise<Shown | null> {
  const isShown = (found: Shown | null) =>
    Object.entries(members).every(([name, value]) => found?.[name] === value);
  return until(() => conversation(app, id), isShown);
}

/**
 * Stores a finished conversation of each dialect in one running sandbox that no worker serves; V0
 * has the newer one.
 */
export function conversationOfEachDialect({ store }: Pick<TestApp, 'store'>) {
  const [earlier, later] = ['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:01.000000Z'] as const;
  const sandbox = { ...newSandbox('process', earlier), status: 'RUNNING' as const, port: 1 };
  const ids = { v0: 'a0'.repeat(16), v1: 'a1'.repeat(16), sandbox: sandbox.id };
  store.sandboxes.insert(sandbox);
  for (const [id, dialect, created_at] of [
    [ids.v1, 'V1', earlier] as const,
    [ids.v0, 'V0', later] as const,
  ]) {
    store.conversations.insert(
      conversationRow({ id, dialect, sandbox_id: sandbox.id, created_at }),
    );
  }
  return ids;
}

/** A trajectory of V0 that runs one command and finishes. */
export function trajectory(command: string, end = 'All done.'): string {
  return JSON.stringify([
    { id: 0, source: 'user', action: 'message', args: { content: 'Please work' } },
    { id: 1, source: 'agent', action: 'run', args: { command } },
    { id: 2, source: 'agent', action: 'finish', args: { final_thought: end } },
  ]);
}

/** The conversation once its run has ended. */
export async function ended(app: Pick<TestApp, 'call'>, id: string): Promise<Shown> {
  const shown = await until(
    () => conversation(app, id),
    (each) => each?.execution_status === 'finished' || each?.execution_status === 'error',
  );
  return shown as Shown;
}

export interface SandboxCalls {
  /** The id of a new sandbox. */
  newSandbox: () => Promise<string>;
  post: (id: string, verb: 'pause' | 'resume') => Promise<Answer>;
  remove: (id: string) => Promise<Answer>;
  statusOf: (id: string) => string | null;
  /** The status after a start. */
  settled: (id: string) => Promise<string | null>;
}

/** Changes of sandboxes, over V1, at the app server that `app` returns at each call. */
export function sandboxCalls(app: () => Pick<TestApp, 'call' | 'store' | 'context'>): SandboxCalls {
  const route = '/api/v1/sandboxes';
  const statusOf = (id: string): string | null => app().store.sandboxes.get(id)?.status ?? null;
  return {
    newSandbox: async () => ((await app().call('POST', route)).body as { id: string }).id,
    post: (id, verb) => app().call('POST', `${route}/${id}/${verb}`),
    remove: (id) => app().call('DELETE', `${route}/${id}?sandbox_id=${id}`),
    statusOf,
    settled: (id) =>
      until(
        () => statusOf(id),
        (status) => status !== 'STARTING',
      ),
  };
}
