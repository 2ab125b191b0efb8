/** `--jq`: an expression that is applied to each piece of JSON that a command writes. */
import { Worker } from 'node:worker_threads';
import { AppError } from '../errors.ts';
import { noticeLine } from '../text/notice.ts';
import { escapeJson } from '../text/safe-text.ts';
import type { EmitterOptions } from './emitter-options.ts';
import { jsonDocument } from './json.ts';
import type { Outlet } from './outlet.ts';

export interface JqQuestion {
  /** JSON documents one after the other. */
  input: string;
  expression: string;
}

export interface JqAnswer {
  /** One line for each result. */
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface JqFilter {
  /** Throws `usage` for an expression with an error of syntax. */
  check(): Promise<void>;
  /** Writes the results: texts without quotes, anything else as JSON. Throws `failed` after those before an error. */
  write(json: string | Uint8Array): Promise<void>;
  /** Ends the thread. */
  close(): Promise<void>;
}

/** The exit code of jq for an expression that it cannot compile. */
const NOT_COMPILED = 3;
/** jq needs several times as much memory as its input. */
const MOST_INPUT = 256 * 1024 * 1024;
const LIMITS = { maxOldGenerationSizeMb: 1024 };

export function createJqFilter({ globals, io, jq }: EmitterOptions, outlet: Outlet): JqFilter {
  const expression = globals.jq ?? '.';
  let thread: Worker | null = null;

  const ask = async (input: string): Promise<JqAnswer> => {
    if (jq === undefined) throw new AppError('internal', '--jq has no file to run');
    const worker = (thread ??= startThread(jq.file));
    worker.ref();
    try {
      return await answerOf(worker, { input, expression }, jq.signal);
    } catch (error) {
      thread = null;
      await worker.terminate();
      throw error;
    } finally {
      worker.unref();
    }
  };

  return {
    async check() {
      const { exitCode, stderr } = await ask('');
      if (exitCode !== NOT_COMPILED) return;
      throw new AppError('usage', `--jq: ${reasonOf(stderr)}`, { hint: 'see the manual of jq 1.8 for expressions' });
    },
    async write(json) {
      if (json.length > MOST_INPUT) throw new AppError('failed', '--jq: the JSON is too large; use --format ndjson');
      const { stdout, stderr, exitCode } = await ask(typeof json === 'string' ? json : Buffer.from(json).toString());
      await outlet.raw(shown(stdout, outlet.onTerminal));
      if (exitCode !== 0) throw new AppError('failed', `--jq: ${reasonOf(stderr)}`, { hint: HINT });
      // What the expression prints with `debug` and `stderr`.
      if (stderr !== '') await io.stderr.write(noticeLine(`--jq: ${stderr}`, 'json'));
    },
    async close() {
      await thread?.terminate();
      thread = null;
    },
  };
}

const HINT = 'the command itself has succeeded; see its JSON: --json';

function startThread(file: string): Worker {
  // What jq itself prints when it gives up is not shown: the answer says so.
  const wasm = file.replace(/\.js$/, '.wasm');
  return new Worker(file, { workerData: { wasm }, resourceLimits: LIMITS, env: {}, stdout: true, stderr: true });
}

/** Rejects with the reason of the signal when that aborts meanwhile; one that has aborted before ends nothing. */
function answerOf(worker: Worker, question: JqQuestion, signal: AbortSignal): Promise<JqAnswer> {
  return new Promise<JqAnswer>((resolve, reject) => {
    const end = (settle: () => void): void => {
      worker.off('message', onMessage).off('error', onError);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const onMessage = (answer: JqAnswer): void => end(() => resolve(answer));
    const onError = (error: Error): void => end(() => reject(failureOf(error)));
    const onAbort = (): void => end(() => reject(signal.reason as Error));
    worker.once('message', onMessage).once('error', onError);
    if (!signal.aborted) signal.addEventListener('abort', onAbort);
    worker.postMessage(question);
  });
}

function failureOf(error: Error): AppError {
  const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  const reason = isMemory ? 'the results do not fit in memory' : error.message;
  return new AppError('failed', `--jq: ${reason}`, { hint: HINT, cause: error });
}

/** The first line of an error of jq, without what stands around it in a terminal. */
function reasonOf(stderr: string): string {
  const [line = ''] = stderr.split('\n');
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, '')
    .replace(/ at <top-level>, /, ' at ')
    .replace(/:$/, '');
}

function shown(lines: string, onTerminal: boolean): string {
  if (lines === '') return '';
  return lines
    .split('\n')
    .map((line) => {
      if (line.startsWith('"')) return `${JSON.parse(line) as string}\n`;
      return onTerminal && /^[[{]/.test(line) ? jsonDocument(JSON.parse(line)) : `${escapeJson(line)}\n`;
    })
    .join('');
}
