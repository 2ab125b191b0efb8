import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Io } from '../base/streams.ts';
import { AppError } from '../base/errors.ts';
import { noticeLine } from '../base/text/notice.ts';
import { jsonDocument } from './json.ts';
import { formatDuration } from '../base/text/time.ts';
import { escapeJson } from '../base/text/safe-text.ts';

export interface JqQuestion {
  input: string;
  expression: string;
}

export interface JqAnswer {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** The exit code of jq for an expression that it cannot compile. */
const NOT_COMPILED = 3;
const LIMITS = { maxOldGenerationSizeMb: 1024 };
/** jq needs several times as much memory as its input. */
const MOST_INPUT = 256 * 1024 * 1024;
/** Timers hold at most 2^31 ms. */
const LONGEST_TIMER_MS = 2_000_000_000;
const HINT = 'the command itself has succeeded; see its JSON: --json';

export interface JqOptions {
  io: Pick<Io, 'stdout' | 'stderr'>;
  globals: { jq?: string; requestTimeoutMs?: number };
  /** The script of the thread, and what interrupts it. */
  jq: { file: string; signal: AbortSignal };
  now: () => number;
}

interface JqTarget {
  onTerminal: boolean;
  deadlineMs: number;
  raw(text: string): Promise<void>;
}

/** jq in a thread, which a signal or a deadline ends. */
export class JqFilter {
  private readonly options: JqOptions;
  private readonly target: JqTarget;
  private thread: Worker | null = null;

  constructor(options: JqOptions, target: JqTarget) {
    this.options = options;
    this.target = target;
  }

  /** Throws `usage` for an expression with an error of syntax. */
  async check(): Promise<void> {
    // Without an input nothing is evaluated.
    const { exitCode, stderr } = await this.evaluate('');
    if (exitCode !== NOT_COMPILED) return;
    const hint = 'see the manual of jq 1.8 for expressions';
    throw new AppError('usage', `--jq: ${firstLine(stderr)}`, { hint });
  }

  /** Prints texts without quotes, else JSON. Throws `failed` after the results before an error. */
  async write(json: string | Uint8Array): Promise<void> {
    if (json.length > MOST_INPUT)
      throw new AppError('failed', '--jq: the JSON is too large; use --format ndjson');
    const { stdout, stderr, exitCode } = await this.evaluate(Buffer.from(json).toString());
    const results = stdout.split('\n').filter((line) => line !== '');
    await this.target.raw(results.map((line) => this.textOfResult(line)).join(''));
    if (exitCode !== 0) throw new AppError('failed', `--jq: ${firstLine(stderr)}`, { hint: HINT });
    if (stderr !== '') await this.options.io.stderr.write(noticeLine(`--jq: ${stderr}`, 'json'));
  }

  async close(): Promise<void> {
    await this.thread?.terminate();
    this.thread = null;
  }

  private textOfResult(line: string): string {
    if (line.startsWith('"')) return `${JSON.parse(line) as string}\n`;
    if (this.target.onTerminal && /^[[{]/.test(line)) return jsonDocument(JSON.parse(line));
    return `${escapeJson(line)}\n`;
  }

  private async evaluate(input: string): Promise<JqAnswer> {
    const { globals, now } = this.options;
    const { file, signal } = this.options.jq;
    const thread = (this.thread ??= startThread(file));
    thread.ref();
    const { jq: expression = '.', requestTimeoutMs = 30_000 } = globals;
    thread.postMessage({ input, expression } satisfies JqQuestion);
    // The outcome is written near the deadline, or after it.
    const limitMs = Math.min(requestTimeoutMs, Math.max(this.target.deadlineMs - now(), 5_000));
    const ms = Math.min(limitMs, LONGEST_TIMER_MS);
    const late = AbortSignal.timeout(ms);
    // After a signal the outcome of the command is still written.
    const until = AbortSignal.any(signal.aborted ? [late] : [late, signal]);
    try {
      const [answer] = (await once(thread, 'message', { signal: until })) as [JqAnswer];
      thread.unref();
      return answer;
    } catch (error) {
      await this.close();
      const details = { hint: HINT, cause: error };
      if (!until.aborted)
        throw new AppError('failed', `--jq: ${(error as Error).message}`, details);
      if (until.reason === signal.reason) throw signal.reason;
      const limit = formatDuration(ms);
      throw new AppError('timeout', `--jq: the expression did not end within ${limit}`, {
        hint:
          'see the JSON without it: --json; where it only needs longer: --request-timeout or ' +
          '--wait-timeout',
      });
    }
  }
}

function startThread(file: string): Worker {
  return new Worker(file, {
    workerData: { wasm: file.replace(/\.js$/, '.wasm') },
    resourceLimits: LIMITS,
    env: {},
    // What jq prints when it gives up is not shown: its answer says so.
    stdout: true,
    stderr: true,
  });
}

function firstLine(stderr: string): string {
  const [line = ''] = stderr.split('\n');
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, '')
    .replace(/ at <top-level>, /, ' at ')
    .replace(/:$/, '');
}
