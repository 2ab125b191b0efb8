/** A real worker process for tests: the built one, with its own folders, ended afterwards. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { SandboxSpecName, WorkerNotice } from '../../../../src/service/sandboxes/worker-protocol.ts';
import { hasBubblewrap } from '../../../support/bubblewrap.ts';
import { openSocket, type TestSocket } from './socket.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
/** Long enough for a machine ten times as slow: a bound that is hit means that the condition never comes true. */
const BOUND_MS = 60_000;
export const KEY = 'test-session-key';
export const ID = '7f0c2d4e-1a3b-4c5d-8e9f-a1b2c3d4e5f6';

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
    events: path.join(dir, 'events'),
    sandboxId: path.basename(dir),
  };
  mkdirSync(place.workspace);
  mkdirSync(place.events);
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

export interface TestWorker {
  child: ChildProcess;
  notices: WorkerNotice[];
  port: number;
  workingDir: string;
  spec: SandboxSpecName;
  call(method: string, route: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a command of the app server and waits for its notice. */
  command(type: 'pause' | 'resume' | 'stop'): Promise<WorkerNotice>;
  socket(route: string, headers?: Record<string, string>): TestSocket;
  /** Closes stdin, as the death of the app server does, and waits for the end. */
  end(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface WorkerOptions {
  /** Default: bubblewrap where it works, else process. */
  spec?: SandboxSpecName;
  env?: Record<string, string>;
  initialEnv?: Record<string, string>;
  port?: number;
}

/** Starts a worker and waits until it is ready. */
export async function startTestWorker(place: Place, options: WorkerOptions = {}): Promise<TestWorker> {
  const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'worker.js')], {
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  const notices: WorkerNotice[] = [];
  const errors: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => notices.push(JSON.parse(line) as WorkerNotice));
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin.write(
    `${JSON.stringify({
      sandbox_id: place.sandboxId,
      session_api_key: KEY,
      spec: options.spec ?? (hasBubblewrap ? 'bubblewrap' : 'process'),
      workspace_dir: place.workspace,
      events_dir: place.events,
      root: ROOT,
      port: options.port,
      initial_env: options.initialEnv ?? {},
    })}\n`,
  );
  // Not at its exit: its last output may arrive later.
  let hasEnded = false;
  child.once('close', () => (hasEnded = true));
  const first = await until('ready', () => {
    if (hasEnded) throw new Error(`the worker ended: ${JSON.stringify(notices)} ${errors.join('\n')}`);
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
        body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      let parsed: unknown = text;
      if (response.headers.get('content-type')?.includes('json')) parsed = JSON.parse(text);
      return { status: response.status, body: parsed, headers: response.headers };
    },
    async command(type) {
      requests += 1;
      const request = `request-${requests}`;
      child.stdin.write(`${JSON.stringify({ type, request })}\n`);
      const notice = await until(`answer to ${type}`, () =>
        notices.find((one) => 'request' in one && one.request === request),
      );
      if (notice.type === 'resumed') worker.port = notice.port;
      return notice;
    },
    socket: (route, headers = {}) => openSocket(`ws://127.0.0.1:${worker.port}${route}`, headers),
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
    // The same object: the port of a worker changes when it is resumed.
    return Object.assign(worker, { place, close });
  } catch (error) {
    removePlace(place);
    throw error;
  }
}

export const step = {
  run: (command: string, more: Record<string, unknown> = {}) => ({ type: 'terminal', command, thought: '', ...more }),
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

/** Starts a conversation whose agent plays these steps. */
export async function startConversation(
  worker: TestWorker,
  steps: unknown[] | null,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  return worker.call('POST', '/api/conversations', {
    conversation_id: ID,
    initial_message: message('Please do it.'),
    workspace: { working_dir: worker.workingDir },
    ...(steps === null ? { agent: { llm: { model: 'none' } } } : { replay: steps }),
    ...more,
  });
}

export async function statusOf(worker: TestWorker): Promise<string> {
  const { body } = await worker.call('GET', `/api/conversations/${ID}`);
  return (body as { execution_status: string }).execution_status;
}

export async function untilStatus(worker: TestWorker, wanted: string): Promise<void> {
  await until(`status ${wanted}`, async () => (await statusOf(worker)) === wanted);
}

/** All events, page after page. */
export async function eventsOf(worker: TestWorker, limit = 100): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let page: string | null = null; ;) {
    const query: string = page === null ? '' : `&page_id=${page}`;
    const { body } = await worker.call('GET', `/api/conversations/${ID}/events/search?limit=${limit}${query}`);
    const { items, next_page_id } = body as { items: StoredEvent[]; next_page_id: string | null };
    events.push(...items);
    if (next_page_id === null) return events;
    page = next_page_id;
  }
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
    const observation = event['observation'] as { kind: string; content: { text: string }[] } | undefined;
    return observation?.kind === 'TerminalObservation' ? [observation.content[0]?.text ?? ''] : [];
  });
}

/** The state of a process as the kernel calls it: T is stopped, Z a zombie. Empty when it is gone. */
export function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.charAt(0) ?? '';
  } catch {
    return '';
  }
}

/** Whether a process lives: a zombie does not, and who buries it, and when, depends on the machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return stateOf(pid) !== 'Z';
}
