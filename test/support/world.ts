/**
 * A whole acs in one test: a real local service on loopback in a folder of its own, and the command
 * line run in-process with streams that are kept. Call `close()` in afterAll/afterEach; it ends the
 * service and removes the folder.
 */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { run } from '../../src/cli/run.ts';
import { clockFrom, type Clock } from '../../src/base/clock.ts';
import type { InputStream, OutputStream } from '../../src/base/streams.ts';
import type { Platform } from '../../src/commands/context.ts';
import { AppError } from '../../src/base/errors.ts';
import { startService, type RunningService } from '../../src/service/index.ts';
import { createContext } from '../../src/cli/create-context.ts';
import type { LineInput } from '../../src/terminal/line-input.ts';
import type { Prompt } from '../../src/terminal/prompt.ts';

export const PACKAGE_ROOT = path.resolve(import.meta.dirname, '../..');

export interface Invocation {
  args: string[];
  /** Text on stdin; without it stdin is open and sends nothing, as under many CI runners. */
  stdin?: string | Uint8Array;
  /** Makes stdin, stdout and stderr terminals of this many columns. */
  columns?: number;
  /**
   * A terminal whose user answers each question with the next of these; a wrong answer is asked
   * again.
   */
  answers?: readonly (string | boolean)[];
  env?: Record<string, string | undefined>;
  cwd?: string;
  signal?: AbortSignal;
  /** Called with each text that the command writes to stdout or stderr, as it is written. */
  onOut?: (text: string) => void;
  onErr?: (text: string) => void;
  /** Real time without one. */
  clock?: Clock;
  /** Where the package lies; that of this checkout without one. */
  root?: string;
}

export interface Ended {
  code: number;
  out: string;
  err: string;
  /** stdout as it is. */
  bytes: Buffer;
  /** The questions that were asked, each choice with its names. */
  questions: string[];
}

export interface World {
  /** Folder of this world; it is deleted with its contents. */
  dir: string;
  /** HOME of the commands: empty at first. */
  home: string;
  dataDir: string;
  service: RunningService;
  /** The sandbox of the runs that helpers start; each run has its own without one. */
  sandbox?: string;
  env: Record<string, string | undefined>;
  /** Runs one command against the service of this world. */
  acs(...args: string[]): Promise<Ended>;
  invoke(invocation: Invocation): Promise<Ended>;
  /** Ends the service and starts another one on the same data directory and port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Which routes the service serves: an old server, a new one, both. */
  api?: 'v0' | 'v1' | 'both';
  spec?: 'bubblewrap' | 'process';
  /** Limits of each sandbox. */
  limits?: { sandboxMemory?: number; sandboxProcesses?: number };
  /** PATH of the service; that of the test without one. */
  path?: string;
  /** Sandboxes that may run at once. */
  maxRunning?: number;
  /** Where it listens; any port without one. */
  port?: number;
  /** A scenario as a file would hold it. */
  faults?: unknown;
  /** The default replay: the path of a file, or `demo`. */
  replay?: string;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  const home = path.join(dir, 'home');
  const dataDir = path.join(dir, 'data');
  await mkdir(home);
  const serviceEnv = { PATH: options.path ?? process.env.PATH, HOME: home };
  const scenario =
    options.faults === undefined ? {} : { scenario: await scenarioFile(dir, options.faults) };
  const start = (port = options.port): Promise<RunningService> =>
    startService({
      dataDir,
      root: PACKAGE_ROOT,
      version: '0.0.0-test',
      env: serviceEnv,
      api: options.api ?? 'both',
      ...(options.spec ? { spec: options.spec } : {}),
      ...(port === undefined ? {} : { port }),
      ...(options.replay === undefined ? {} : { replay: options.replay }),
      ...(options.maxRunning === undefined ? {} : { maxRunning: options.maxRunning }),
      ...options.limits,
      ...scenario,
      idleTimeoutMs: 0,
    });
  const service = await start();
  const env = {
    ...serviceEnv,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: service.url,
    ACS_API_KEY: service.key,
  };
  const world: World = {
    dir,
    home,
    dataDir,
    service,
    env,
    acs: (...args) => world.invoke({ args }),
    invoke: (invocation) => invoke({ cwd: dir, ...invocation, env: { ...env, ...invocation.env } }),
    async restart() {
      await world.service.close('the test restarts it');
      world.service = await start(world.service.port);
    },
    async close() {
      await world.service.close('the test is over');
      await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
  return world;
}

async function scenarioFile(dir: string, faults: unknown): Promise<string> {
  const file = path.join(dir, 'faults.json');
  await writeFile(file, JSON.stringify(faults));
  return file;
}

/** Runs one command line in this process, with no server of its own. */
export async function invoke(invocation: Invocation & { cwd: string }): Promise<Ended> {
  const { answers, columns = answers && 200 } = invocation;
  const { platform, stdout, stderr } = platformOf({ ...invocation, columns });
  const context = createContext(platform);
  const questions: string[] = [];
  if (answers !== undefined) {
    const prompt = promptOf([...answers], questions);
    context.terminal.prompt = () => Promise.resolve(prompt);
    const read: LineInput['read'] = async ({ prompt: message }) => ({
      type: 'text',
      text: await prompt.input({ message: message.trim() }),
    });
    context.terminal.lineInput = () =>
      Promise.resolve({ read, close: () => Promise.resolve() } as LineInput);
  }
  const code = await run(invocation.args, context);
  const [out, err] = [stdout.bytes().toString('utf8'), stderr.bytes().toString('utf8')];
  return { code, out, err, bytes: stdout.bytes(), questions };
}

function promptOf(answers: (string | boolean)[], questions: string[]): Prompt {
  const answer = <T>(message: string): Promise<T> => {
    questions.push(message);
    if (answers.length === 0) throw new Error(`no answer is left for "${message}"`);
    return Promise.resolve(answers.shift() as T);
  };
  const input: Prompt['input'] = async ({ message, default: preset, validate }) => {
    for (let asked = message; ;) {
      const given = (await answer<string>(asked)) || (preset ?? '');
      const problem = (await validate?.(given)) ?? true;
      if (problem === true) return given;
      asked = `${message} ${problem}`;
    }
  };
  return {
    confirm: ({ message }) => answer(message),
    input,
    select: ({ message, choices }) =>
      answer(`${message} [${choices.map(({ name }) => name).join(' | ')}]`),
    secret: input,
    editor: ({ message }) => answer(message),
  };
}

/** What a command reads of the process, and the streams that keep what it writes. */
export function platformOf(invocation: Invocation & { cwd: string }): {
  platform: Platform;
  stdout: KeptStream;
  stderr: KeptStream;
} {
  const stdout = keptStream(invocation.columns, invocation.onOut);
  const stderr = keptStream(invocation.columns, invocation.onErr);
  const platform = {
    root: invocation.root ?? PACKAGE_ROOT,
    io: { stdin: inputStream(invocation), stdout, stderr },
    env: invocation.env ?? {},
    cwd: invocation.cwd,
    home: invocation.env?.HOME ?? invocation.cwd,
    platform: process.platform,
    clock: invocation.clock ?? clockFrom(() => Date.now()),
    signal: invocation.signal ?? new AbortController().signal,
  };
  return { platform, stdout, stderr };
}

interface KeptStream extends OutputStream {
  bytes(): Buffer;
}

function keptStream(columns: number | undefined, onText?: (text: string) => void): KeptStream {
  const chunks: Buffer[] = [];
  return {
    write(chunk) {
      chunks.push(Buffer.from(chunk));
      onText?.(Buffer.from(chunk).toString('utf8'));
      return Promise.resolve();
    },
    isTTY: columns !== undefined,
    columns,
    bytes: () => Buffer.concat(chunks),
  };
}

function inputStream({ stdin, columns }: Invocation): InputStream {
  let read = false;
  return {
    isTTY: columns !== undefined,
    isPiped: stdin !== undefined,
    raw: stdin === undefined ? new PassThrough() : Readable.from([Buffer.from(stdin)]),
    readAll() {
      if (read)
        return Promise.reject(new AppError('usage', 'stdin can be read only once in a command'));
      read = true;
      if (stdin === undefined) return new Promise(() => {});
      return Promise.resolve(Buffer.from(stdin));
    },
  };
}
