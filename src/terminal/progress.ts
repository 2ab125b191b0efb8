/** What a person sees while a command waits. */
import { isForPrograms, noticeLine } from '../text/notice.ts';
import { safeLine } from '../text/safe-text.ts';
import { paletteFor, takesColors } from './palette.ts';
import type { TerminalWriter } from './writable.ts';

/** A wait that a person watches: a spinner on a terminal, a line per change of state elsewhere. */
export interface Progress {
  update(text: string): void;
  /** Ends it, with a last line or silently. */
  done(text?: string): Promise<void>;
  fail(text?: string): Promise<void>;
}

export interface ProgressOptions {
  io: { stderr: TerminalWriter };
  env: Readonly<Record<string, string | undefined>>;
  globals: { format?: string; color: 'auto' | 'never' };
  /** What is waited for. */
  text: string;
}

export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { stderr } = options.io;
  const { CI, TERM } = options.env;
  const animated = stderr.isTTY && (!CI || CI === 'false') && TERM !== 'dumb' && !isForPrograms(options.globals.format);
  return animated ? await spinning(options) : lineByLine(stderr, options.text, options.globals.format);
}

/** Only for a terminal: elsewhere ora writes lines even when it is disabled. */
async function spinning({ io, env, globals, text }: ProgressOptions): Promise<Progress> {
  const question = { isTTY: io.stderr.isTTY, env, color: globals.color };
  const colors = takesColors(question);
  const [{ default: ora }, { TerminalStream }] = await Promise.all([import('ora'), import('./writable.ts')]);
  const palette = await paletteFor(question);
  const stream = new TerminalStream(io.stderr, colors ? 'colors' : 'no-colors');
  const spinner = ora({
    text: safeLine(text),
    stream: stream as unknown as NodeJS.WritableStream,
    isEnabled: true,
    color: colors ? 'cyan' : false,
    // Discarding would put stdin into raw mode, where Ctrl-C no longer sends a signal.
    discardStdin: false,
  }).start();
  let ended = false;
  const end = async (line: string | undefined): Promise<void> => {
    if (ended) return;
    ended = true;
    spinner.stop();
    if (line !== undefined) stream.write(`${line}\n`);
    await stream.drained();
  };
  return {
    update(next) {
      spinner.text = safeLine(next);
    },
    done: (last) => end(last === undefined ? undefined : `${palette.good('✓')} ${safeLine(last)}`),
    fail: (last) => end(last === undefined ? undefined : `${palette.bad('✗')} ${safeLine(last)}`),
  };
}

/** The same text twice is one line. */
function lineByLine(stderr: TerminalWriter, first: string, format: string | undefined): Progress {
  let shown: string | null = null;
  let ended = false;
  let last: Promise<void> = Promise.resolve();
  const show = (text: string): void => {
    if (ended || text === shown) return;
    shown = text;
    // A stderr that nobody reads must not end a wait.
    last = last.then(() => stderr.write(noticeLine(text, format))).catch(() => undefined);
  };
  const end = async (text: string | undefined): Promise<void> => {
    if (text !== undefined) show(text);
    ended = true;
    await last;
  };
  show(first);
  return { update: show, done: end, fail: end };
}
