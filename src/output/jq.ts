import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AppError } from '../base/errors.ts';
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

export interface JqFilter {
  /** Throws `usage` for an expression with an error of syntax. */
  check(): Promise<void>;
  /**
   * Texts without quotes, anything else as JSON. Throws `failed` after the results before an error.
   */
  write(json: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** The exit code of jq for an expression that it cannot compile. */
const NOT_COMPILED = 3;
const LIMITS = { maxOldGenerationSizeMb: 1024 };
/** jq needs several times as much memory as its input. */
const MOST_INPUT = 256 * 1024 * 1024;
/** Timers hold at most 2^31 ms. */
const LONGEST_TIMER_MS = 2_000_000_000;
const HINT = 'the command itself has succeeded; see its JSON: --json';

export function createJqFilter(options: {
  expression: string;
  file: string;
  signal: AbortSignal;
  limitMs(): number;
  onTerminal: boolean;
  print(text: string): Promise<void>;
  notice(text: string): Promise<void>;
}): JqFilter {
  const { expression, file, signal, limitMs, onTerminal, print, notice } = options;
  let thread: Worker | null = null;

  const close = async (): Promise<void> => {
    await thread?.terminate();
    thread = null;
  };
  const evaluate = async (input: string): Promise<JqAnswer> => {
    const wasm = file.replace(/\.js$/, '.wasm');
    // What jq prints when it gives up is not shown: its answer says so.
    thread ??= new Worker(file, {
      workerData: { wasm },
      resourceLimits: LIMITS,
      env: {},
      stdout: true,
      stderr: true,
    });
    thread.ref();
    thread.postMessage({ input, expression } satisfies JqQuestion);
    const ms = Math.min(limitMs(), LONGEST_TIMER_MS);
    const late = AbortSignal.timeout(ms);
    // After a signal the outcome of the command is still written.
    const until = AbortSignal.any(signal.aborted ? [late] : [late, signal]);
    const [answer] = (await once(thread, 'message', { signal: until }).catch(
      async (error: unknown) => {
        await close();
        if (until.aborted && until.reason === signal.reason) throw signal.reason;
        if (!until.aborted)
          throw new AppError('failed', `--jq: ${(error as Error).message}`, {
            hint: HINT,
            cause: error,
          });
        throw new AppError(
          'timeout',
          `--jq: the expression did not end within ${formatDuration(ms)}`,
          {
            hint:
              'see the JSON without it: --json; where it only needs longer: ' +
              '--request-timeout or --wait-timeout',
          },
        );
      },
    )) as [JqAnswer];
    thread.unref();
    return answer;
  };

  return {
    async check() {
      // Without an input nothing is evaluated.
      const { exitCode, stderr } = await evaluate('');
      if (exitCode !== NOT_COMPILED) return;
      throw new AppError('usage', `--jq: ${reasonOf(stderr)}`, {
        hint: 'see the manual of jq 1.8 for expressions',
      });
    },
    async write(json) {
      if (json.length > MOST_INPUT)
        throw new AppError('failed', '--jq: the JSON is too large; use --format ndjson');
      const { stdout, stderr, exitCode } = await evaluate(Buffer.from(json).toString());
      const results = stdout.split('\n').filter((line) => line !== '');
      const shown = (line: string): string => {
        if (line.startsWith('"')) return `${JSON.parse(line) as string}\n`;
        return onTerminal && /^[[{]/.test(line)
          ? jsonDocument(JSON.parse(line))
          : `${escapeJson(line)}\n`;
      };
      await print(results.map(shown).join(''));
      if (exitCode !== 0) throw new AppError('failed', `--jq: ${reasonOf(stderr)}`, { hint: HINT });
      if (stderr !== '') await notice(`--jq: ${stderr}`);
    },
    close,
  };
}

function reasonOf(stderr: string): string {
  const [line = ''] = stderr.split('\n');
  return line
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, '')
    .replace(/ at <top-level>, /, ' at ')
    .replace(/:$/, '');
}
