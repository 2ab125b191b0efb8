import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  DEFAULT_CONFIG,
  ID,
  makePlace,
  removePlace,
  startOwnWorker,
  startTestWorker,
  type Answer,
  type OwnWorker,
  type Place,
  type TestWorker,
  type WorkerOptions,
} from './worker.ts';
import { Conversation } from '../../../../src/service/agent-server/conversation.ts';
import type { ConversationNotice } from '../../../../src/service/base/worker-protocol.ts';
import { Sandbox } from '../../../../src/service/isolation/sandbox.ts';
import { noMetrics } from '../../../../src/service/storage/conversation-state.ts';
import { type EventLog, openEventLog } from '../../../../src/service/storage/event-log.ts';

type Shown = Pick<Answer, 'status' | 'body'>;

export interface SharedWorker {
  /** Set while tests run. */
  readonly worker: OwnWorker;
  get(route: string): Promise<Shown>;
  post(route: string, body?: unknown): Promise<Shown>;
}

/**
 * A worker that the tests of a file share, ended after them, whose conversation has played these
 * steps to their end.
 */
export function useSharedWorker(steps: unknown[]): SharedWorker {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker();
    await worker.play(steps);
  });
  afterAll(() => worker.close());
  const call = async (method: string, route: string, sent?: unknown): Promise<Shown> => {
    const { status, body } = await worker.call(method, route, sent);
    return { status, body };
  };
  return {
    get worker() {
      return worker;
    },
    get: (route) => call('GET', route),
    post: (route, body) => call('POST', route, body),
  };
}

/**
 * One worker for the tests of the enclosing suite, ended after them. After each test its
 * conversation is deleted, and what is in the workspace: for tests that need a sandbox without
 * either, and leave no other traces.
 * @param set called with the worker before the tests
 * @param options a function where they are known only in `beforeAll`
 */
export function useEmptiedWorker(
  set: (worker: OwnWorker) => void,
  options: WorkerOptions | (() => WorkerOptions) = {},
): void {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker(typeof options === 'function' ? options() : options);
    set(worker);
  });
  afterEach(async () => {
    await worker.call('DELETE', `/api/conversations/${ID}`);
    const { workspace } = worker.place;
    for (const name of readdirSync(workspace))
      rmSync(path.join(workspace, name), { recursive: true, maxRetries: 10 });
  });
  afterAll(() => worker.close());
}

export interface SandboxOfTest {
  readonly place: Place;
  /** Starts a worker in these folders. */
  start(options?: WorkerOptions): Promise<TestWorker>;
}

/**
 * For the tests of a file: each has folders of its own, and the workers that it started in them are
 * ended after it.
 */
export function sandboxOfTest(): SandboxOfTest {
  let place: Place;
  let started: TestWorker[];
  beforeEach(() => {
    place = makePlace();
    started = [];
  });
  afterEach(async () => {
    await Promise.all(started.map((worker) => worker.end()));
    removePlace(place);
  });
  return {
    get place() {
      return place;
    },
    async start(options) {
      const worker = await startTestWorker(place, options);
      started.push(worker);
      return worker;
    },
  };
}

// A sandbox without isolation for the tests of a file. Each call of `folder` makes a folder, below
// the workspace.

export function usePlainSandbox(): {
  readonly sandbox: Sandbox;
  another: () => Sandbox;
  folder: () => string;
} {
  let dir: string;
  let sandbox: Sandbox;
  let another: (id: string) => Sandbox;
  beforeAll(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'acs-plain-'));
    const workspace_dir = path.join(dir, 'workspaces', 'one');
    mkdirSync(workspace_dir, { recursive: true });
    const root = path.resolve(import.meta.dirname, '../../../..');
    const rest = { ...DEFAULT_CONFIG, events_dir: dir, database: '' };
    another = (sandbox_id) =>
      new Sandbox({ sandbox_id, spec: 'process', workspace_dir, root, ...rest });
    sandbox = another(path.basename(dir));
    await sandbox.folders();
  });
  afterAll(async () => {
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get sandbox() {
      return sandbox;
    },
    /** Of the same folders. */
    another: () => another('another'),
    folder: () => mkdtempSync(path.join(dir, 'workspaces', 'one', 'test-')),
  };
}

/** A conversation in a folder, without a worker. Its run is in progress. */
export function openConversation(
  dir: string,
  log: EventLog = openEventLog(path.join(dir, 'a.db')),
  notify: (notice: ConversationNotice) => void = () => undefined,
): Conversation {
  const state = {
    conversation_id: 'a'.repeat(32),
    execution_status: 'running',
    title: null,
    created_at: '2026-01-01T00:00:00.000000Z',
    updated_at: '2026-01-01T00:00:00.000000Z',
    working_dir: dir,
    max_iterations: 10,
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    model: 'replay',
    metrics: noMetrics('replay'),
    last_user_message_id: null,
    steps_done: 0,
    pending_action_id: null,
    tags: {},
  } as const;
  return new Conversation(state, log, () => 1_800_000_000_000_000, notify);
}
