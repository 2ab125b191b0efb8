/** On stderr: stdout stays data. The one owner of inquirer; loaded with the first question. */
import { input, select } from '@inquirer/prompts';
import type { Io } from '../base/streams.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { safeLine } from '../base/text/safe-text.ts';
import { wrap } from '../base/text/width.ts';
import { readYesNo, YES_OR_NO } from '../base/text/yes-no.ts';
import { editText } from './editor.ts';
import { takesColors } from './palette.ts';
import { TerminalStream } from './writable.ts';

/** Returns why an answer is asked for again. What it throws rejects the question. */
export type Validate = (value: string) => true | string | Promise<true | string>;

/** All reject with AppError `interrupted` on Ctrl-C. */
export interface Prompt {
  confirm(question: {
    message: string;
    default?: 'yes' | 'no' | 'none';
    until?: AbortSignal;
  }): Promise<boolean>;
  input(question: {
    message: string;
    default?: string;
    validate?: Validate;
    until?: AbortSignal;
  }): Promise<string>;
  select<T extends string>(question: {
    message: string;
    choices: readonly { value: T; name: string; description?: string }[];
    default?: T;
  }): Promise<T>;
  secret(question: { message: string; validate?: Validate }): Promise<string>;
  editor(question: { message: string; initial: string; extension: string }): Promise<string>;
}

/** inquirer shows the cursor again when the question is answered. */
const HIDE_CURSOR = '\x1b[?25l';

type Config = Parameters<typeof input>[0];

interface PromptOptions {
  io: Pick<Io, 'stderr'> & { stdin: Pick<Io['stdin'], 'raw'> };
  env: NodeJS.ProcessEnv;
  platform: string;
  signal: AbortSignal;
  /** Does what Ctrl-C does where no question is open. */
  interrupt: () => void;
  color: 'auto' | 'never';
  /** Masks everything that is shown: a server may repeat a key in its answer. */
  redact: (text: string) => string;
}

export function createPrompt(options: PromptOptions): Prompt {
  const { io, env, platform, signal, color, redact } = options;
  const colors = takesColors(io.stderr, env, color) ? 'colors' : 'no-colors';
  const safe = (text: string): string => safeLine(redact(text));
  // inquirer puts "? " or "> " before it, and breaks lines within words.
  const shown = (text: string): string =>
    wrap(`? ${safe(text)}`, io.stderr.columns || 80, 2).slice(2);
  const ask = <T>(question: Question<T>, until?: AbortSignal): Promise<T> => {
    const output = new TerminalStream(io.stderr, colors);
    return answerOf(question, { ...options, output, until, shown });
  };
  const askText = (
    { validate = () => true, ...config }: Config & { validate?: Validate },
    until?: AbortSignal,
  ) =>
    ask(
      (around, checked) =>
        input({ ...config, message: shown(config.message), validate: checked(validate) }, around),
      until,
    );
  return {
    async confirm({ message, default: preset = 'no', until }) {
      const hint = { yes: 'Y/n', no: 'y/N', none: 'y/n' }[preset];
      const read = (text: string) => readYesNo(text.trim() || preset);
      const question = {
        message: `${message} (${hint})`,
        validate: (text: string) => read(text) !== null || YES_OR_NO,
        transformer: (text: string, { isFinal }: { isFinal: boolean }) =>
          isFinal ? (read(text) ?? text) : text,
        theme: { validationFailureMode: 'clear' as const },
      };
      return read(await askText(question, until)) === 'yes';
    },
    input({ until, default: preset = '', ...question }) {
      // It may come from a server, and is returned as it is.
      const shownDefault = safe(preset) === preset ? preset : undefined;
      return askText({ ...question, default: shownDefault }, until);
    },
    select: ({ message, choices, default: answer }) =>
      ask((around) =>
        select(
          {
            message: shown(message),
            // Names come from servers and repositories; values go back as they are.
            choices: choices.map(({ value, name, description }) => ({
              value,
              name: safe(name),
              description: description && safe(description),
            })),
            default: answer,
          },
          around,
        ),
      ),
    // Neither the text nor the cursor, which would disclose the length.
    secret: (question) => {
      const transformer = (_: string, { isFinal }: { isFinal: boolean }) =>
        isFinal ? '' : `[not shown]${HIDE_CURSOR}`;
      return askText({ ...question, transformer, theme: { validationFailureMode: 'clear' } });
    },
    async editor({ message, ...text }) {
      await io.stderr.write(`${safe(message)}\n`);
      return await editText({ ...text, env, platform, signal });
    },
  };
}

interface OpenQuestion extends Pick<PromptOptions, 'io' | 'signal' | 'interrupt'> {
  output: TerminalStream;
  until: AbortSignal | undefined;
  shown: (text: string) => string;
}

type Question<T> = (
  around: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal },
  checked: (validate: Validate) => Validate,
) => Promise<T>;

/** Ends a question of inquirer also where inquirer itself would wait for ever. */
async function answerOf<T>(question: Question<T>, parts: OpenQuestion): Promise<T> {
  const { io, output, signal, until, interrupt, shown } = parts;
  const source = io.stdin.raw;
  const closed = new AbortController();
  const failed = new AbortController();
  let state: 'open' | 'checking' | 'ended' = 'open';
  const checked =
    (validate: Validate): Validate =>
    async (value) => {
      state = 'checking';
      try {
        const problem = await validate(value);
        return problem === true || shown(problem);
      } catch (error) {
        failed.abort(error);
        return '';
      } finally {
        if (state === 'checking') state = 'open';
        // readline has kept what was typed meanwhile, such as a pasted line: Ctrl-U removes it.
        source.emit('keypress', '', { ctrl: true, name: 'u' });
      }
    };
  const reasonOf = (error: unknown): unknown => {
    if (failed.signal.aborted) return failed.signal.reason;
    if (until?.aborted && !signal.aborted) return until.reason;
    const name = error instanceof Error ? error.name : '';
    if (!['ExitPromptError', 'AbortPromptError', 'CancelPromptError'].includes(name)) return error;
    if (signal.aborted && isAppError(signal.reason)) return signal.reason;
    // The requests of a check would keep the process open until they end.
    if (state === 'checking') interrupt();
    const details = { exitCode: 130, cause: error };
    return new AppError('interrupted', 'the prompt was cancelled', details);
  };
  // Ctrl-D closes readline without an answer; inquirer then waits for ever.
  const check = (): void => void setImmediate(() => state !== 'ended' && closed.abort());
  source.on('pause', check).on('end', check);
  const ends = [signal, closed.signal, failed.signal, ...(until ? [until] : [])];
  try {
    return await question({ input: source, output, signal: AbortSignal.any(ends) }, checked);
  } catch (error) {
    throw reasonOf(error);
  } finally {
    state = 'ended';
    source.off('pause', check).off('end', check);
    await output.drained();
  }
}
