/** A real worker process for tests: the built one, with its own folders, ended afterwards. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type {
  Mount,
  SandboxLimits,
  SandboxSpecName,
  WorkerConfig,
  WorkerNotice,
} from '../../../../src/service/base/worker-protocol.ts';
import { AGENT_ROUTES } from '../../../../src/service/agent-server/app.ts';
import { NO_LIMITS } from '../../../../src/service/isolation/limits.ts';
import { hasBubblewrap } from '../../../support/bubblewrap.ts';
import { expectDocumented } from '../../openapi/documented.ts';
import WebSocket from 'ws';
import { sandboxMark, selectProcesses } from '../../../../src/service/isolation/processes.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
/**
 * Long enough for a machine ten times as slow: a bound that is hit means that the condition never
 * comes true.
 */
const BOUND_MS = 60_000;
export const KEY = 'test-session-key';
export const ID = '7f0c2d4e-1a3b-4c5d-8e9f-a1b2c3d4e5f6';

export const DEFAULT_CONFIG = {
  session_api_key: KEY,
  fell_back: false,
  mounts: [],
  port: null,
  initial_env: {},
  limits: NO_LIMITS,
  faults: [],
  default_replay: null,
};

/** Waits until a condition gives something; fails after a bound. */
export async function until<T>(
  what: string,
  probe: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  const end = performance.now() + BOUND_MS;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (performance.now() > end) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Folders that live through several workers. */
export interface Place {
  dir: string;
  workspace: string;
  events: string;
  sandboxId: string;
}

export function makePlace(): Place {
  const dir = mkdtempSync(path.join(tmpdir(), 'acs-worker-'));
  const place = {
    dir,
    workspace: path.join(dir, 'workspace'),
    events: path.join(dir, 'data', 'events', 'sandbox'),
    sandboxId: path.basename(dir),
  };
  mkdirSync(place.workspace);
  mkdirSync(place.events, { recursive: true });
  return place;
}

export function removePlace(place: Place): void {
  rmSync(place.dir, { recursive: true, force: true, maxRetries: 10 });
}

export interface Answer {
  status: number;
  body: unknown;
  headers: Headers;
}

/** A web socket to a worker that keeps what it receives. */
export interface TestSocket {
  client: WebSocket;
  frames: Record<string, unknown>[];
  closed: Promise<{ code: number; reason: string }>;
  /** The HTTP status of the answer to the upgrade: 101 when it is accepted. */
  status: Promise<number>;
}

function openSocket(url: string, headers: Record<string, string>): TestSocket {
  const client = new WebSocket(url, { headers });
  const frames: Record<string, unknown>[] = [];
  client.on('message', (data) =>
    frames.push(JSON.parse((data as Buffer).toString('utf8')) as Record<string, unknown>),
  );
  client.on('error', () => undefined);
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    client.once('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') })),
  );
  const status = new Promise<number>((resolve) => {
    client.once('upgrade', (response) => resolve(response.statusCode ?? 0));
    client.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
  });
  return { client, frames, closed, status };
}

export interface TestWorker {
  child: ChildProcess;
  notices: WorkerNotice[];
  port: number;
  workingDir: string;
  spec: SandboxSpecName;
  call(
    method: string,
    route: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Sends a command of the app server and waits for its notice. */
  command(type: 'pause' | 'resume' | 'stop'): Promise<WorkerNotice>;
  socket(route: string, headers?: Record<string, string>): TestSocket;
  /**
   * Starts a conversation whose agent plays these steps; null for an agent with a model, and no
   * replay.
   */
  startConversation(steps: unknown[] | null, more?: Record<string, unknown>): Promise<Answer>;
  /** The state of that conversation. */
  status(): Promise<string>;
  untilStatus(wanted: string): Promise<void>;
  /** All its events, page after page. */
  events(limit?: number): Promise<StoredEvent[]>;
  /** Starts the conversation, waits until it is finished, and returns its events. */
  play(steps: unknown[], more?: Record<string, unknown>): Promise<StoredEvent[]>;
  /** The outputs of these commands, each a step of a conversation. */
  outputsOf(...commands: string[]): Promise<string[]>;
  /** Closes stdin, as the death of the app server does, and waits for the end. */
  end(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface WorkerOptions {
  /** Default: bubblewrap where it works, else process. */
  spec?: SandboxSpecName;
  env?: Record<string, string>;
  initialEnv?: Record<string, string>;
  fellBack?: boolean;
  port?: number;
  limits?: SandboxLimits;
  mounts?: Mount[];
  /** Descriptors that it inherits, from 3 on. */
  inherited?: number[];
}

/** Starts a worker and waits until it is ready. */
export async function startTestWorker(
  place: Place,
  options: WorkerOptions = {},
): Promise<TestWorker> {
  const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'worker.js')], {
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe', ...(options.inherited ?? [])],
  }) as ChildProcessWithoutNullStreams;
  child.stdin.on('error', () => undefined);
  const notices: WorkerNotice[] = [];
  const errors: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    notices.push(JSON.parse(line) as WorkerNotice),
  );
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const {
    spec = hasBubblewrap ? 'bubblewrap' : 'process',
    fellBack: fell_back = false,
    port = null,
    limits = NO_LIMITS,
    mounts = [],
    initialEnv: initial_env = {},
  } = options;
  const config: WorkerConfig = {
    ...DEFAULT_CONFIG,
    sandbox_id: place.sandboxId,
    spec,
    fell_back,
    workspace_dir: place.workspace,
    events_dir: place.events,
    database: path.join(place.dir, 'service.db'),
    root: ROOT,
    port,
    limits,
    mounts,
    initial_env,
  };
  child.stdin.write(`${JSON.stringify(config)}\n`);
  // Not at its exit: its last output may arrive later.
  let hasEnded = false;
  child.once('close', () => (hasEnded = true));
  const first = await until('ready', () => {
    if (hasEnded)
      throw new Error(`the worker ended: ${JSON.stringify(notices)} ${errors.join('\n')}`);
    return notices.find((notice) => notice.type === 'ready');
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  let requests = 0;
  const worker: TestWorker = {
    child,
    notices,
    port: first.port,
    workingDir: first.working_dir,
    spec: first.spec,
    async call(method, route, body, headers) {
      const response = await fetch(`http://127.0.0.1:${worker.port}${route}`, {
        method,
        headers: {
          'X-Session-API-Key': KEY,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        body:
          body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      let parsed: unknown = text;
      if (response.headers.get('content-type')?.includes('json')) parsed = JSON.parse(text);
      const { status, headers: received } = response;
      expectDocumented(AGENT_ROUTES, {
        method,
        path: route,
        status,
        headers: received,
        body: parsed,
      });
      return { status, body: parsed, headers: received };
    },
    async command(type) {
      requests += 1;
      const request = `request-${requests}`;
      child.stdin.write(`${JSON.stringify({ type, request })}\n`);
      const notice = await until(`answer to ${type}`, () =>
        notices.find((one) => 'request' in one && one.request === request),
      );
      return notice;
    },
    socket: (route, headers = {}) => openSocket(`ws://127.0.0.1:${worker.port}${route}`, headers),
    startConversation: (steps, more) =>
      worker.call('POST', '/api/conversations', {
        conversation_id: ID,
        initial_message: message('Please do it.'),
        workspace: { working_dir: worker.workingDir },
        ...(steps === null ? { agent: { llm: { model: 'none' } } } : { replay: steps }),
        ...more,
      }),
    async status() {
      const { body } = await worker.call('GET', `/api/conversations/${ID}`);
      return (body as { execution_status: string }).execution_status;
    },
    untilStatus: async (wanted) =>
      void (await until(`status ${wanted}`, async () => (await worker.status()) === wanted)),
    async events(limit = 100) {
      const events: StoredEvent[] = [];
      for (let page: string | null = null; ;) {
        const query: string = page === null ? '' : `&page_id=${page}`;
        const { body } = await worker.call(
          'GET',
          `/api/conversations/${ID}/events/search?limit=${limit}${query}`,
        );
        const { items, next_page_id } = body as {
          items: StoredEvent[];
          next_page_id: string | null;
        };
        events.push(...items);
        if (next_page_id === null) return events;
        page = next_page_id;
      }
    },
    async play(steps, more) {
      await worker.startConversation(steps, more);
      await worker.untilStatus('finished');
      return worker.events();
    },
    outputsOf: async (...commands) =>
      outputs(await worker.play([...commands.map((command) => step.run(command)), step.finish()])),
    async end() {
      child.stdin.end();
      await exited;
    },
    async kill(signal) {
      child.kill(signal);
      await exited;
    },
  };
  return worker;
}

export interface OwnWorker extends TestWorker {
  place: Place;
  /** Ends the worker and removes its folders. */
  close(): Promise<void>;
}

/** A worker with folders of its own, for tests that start no second worker in them. */
export async function startOwnWorker(options: WorkerOptions = {}): Promise<OwnWorker> {
  const place = makePlace();
  try {
    const worker = await startTestWorker(place, options);
    const close = async (): Promise<void> => {
      await worker.end();
      removePlace(place);
    };
    return Object.assign(worker, { place, close });
  } catch (error) {
    removePlace(place);
    throw error;
  }
}

export const step = {
  run: (command: string, more: Record<string, unknown> = {}) => ({
    type: 'terminal',
    command,
    thought: '',
    ...more,
  }),
  create: (file: string, text: string) => ({
    type: 'edit',
    command: 'create',
    path: file,
    file_text: text,
    thought: '',
  }),
  replace: (file: string, old: string, text: string) => ({
    type: 'edit',
    command: 'str_replace',
    path: file,
    old_str: old,
    new_str: text,
    thought: '',
  }),
  say: (text: string, ends = true) => ({ type: 'message', text, ends_turn: ends }),
  finish: (message = 'Done.') => ({ type: 'finish', message, thought: '' }),
};

export function message(text: string, run = true): Record<string, unknown> {
  return { role: 'user', content: [{ type: 'text', text }], run };
}

/** One word for each event: its kind, or what it is about. */
export function outline(events: Record<string, unknown>[]): string[] {
  return events.map((event) => {
    const about = (event['action'] ?? event['observation']) as { kind: string } | undefined;
    if (about !== undefined) return about.kind;
    return event['kind'] === 'ConversationStateUpdateEvent'
      ? event['key'] === 'execution_status'
        ? String(event['value'])
        : String(event['key'])
      : String(event['kind']);
  });
}

/** Texts of the observations of commands. */
export function outputs(events: StoredEvent[]): string[] {
  return events.flatMap((event) => {
    const observation = event['observation'] as
      { kind: string; content: { text: string }[] } | undefined;
    return observation?.kind === 'TerminalObservation' ? [observation.content[0]?.text ?? ''] : [];
  });
}

/**
 * The state of a process as the kernel calls it: T is stopped, Z a zombie. Empty when it is gone.
 */
export function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.charAt(0) ?? '';
  } catch {
    return '';
  }
}

/**
 * Whether a process lives: a zombie does not, and who buries it, and when, depends on the machine.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return stateOf(pid) !== 'Z';
}

/**
 * What `outline` shows after a message to a conversation that has ended, whose next turn runs one
 * command and finishes.
 */
export const OUTLINE_AFTER_MESSAGE = [
  'idle',
  'MessageEvent',
  'last_user_message_id',
  'running',
  'TerminalAction',
  'TerminalObservation',
  'FinishAction',
  'FinishObservation',
  'finished',
];

/** Every process that carries the mark of the sandbox. */
export function processesOf(place: Place): number[] {
  return selectProcesses({
    below: null,
    marked: `ACS_SANDBOX_ID=${sandboxMark(place.sandboxId, place.workspace)}`,
    except: [],
  });
}

/** The states of those that live: T is stopped. */
export function statesOf(place: Place): string[] {
  return processesOf(place)
    .map(stateOf)
    .filter((state) => state !== '' && state !== 'Z');
}

/** The text of a file in the workspace; null when there is none. */
export function readIfThere(worker: OwnWorker, name: string): string | null {
  try {
    return readFileSync(path.join(worker.place.workspace, name), 'utf8');
  } catch {
    return null;
  }
}
