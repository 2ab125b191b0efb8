/**
 * Questions to a person, on stderr, so that stdout stays data. The one owner of inquirer; loaded with the first question.
 */
import { confirm, input, password, search, select } from '@inquirer/prompts';
import { AppError, isAppError } from '../errors.ts';
import { safeLine } from '../text/safe-text.ts';
import { editText } from './editor.ts';
import { takesColors } from './palette.ts';
import { TerminalStream, type TerminalWriter } from './writable.ts';

/** Questions to a person. All reject with AppError `interrupted` on Ctrl-C. */
export interface Prompt {
  confirm(question: { message: string; default?: 'yes' | 'no' }): Promise<boolean>;
  input(question: {
    message: string;
    default?: string;
    validate?: (value: string) => Check | Promise<Check>;
  }): Promise<string>;
  select<T extends string>(question: {
    message: string;
    choices: readonly Choice<T>[];
    default?: T;
    /** Takes the question back when it aborts, and rejects with its reason. */
    until?: AbortSignal;
  }): Promise<T>;
  /**
   * A choice among what is listed for the text as it is typed. `choices` is called again with each text, and the signal
   * of the call before aborts; what it rejects with is shown.
   */
  search(question: {
    message: string;
    choices: (typed: string, signal: AbortSignal) => Promise<readonly Choice<string>[]>;
  }): Promise<string>;
  secret(question: { message: string }): Promise<string>;
  /** Opens an editor on the text; returns what was saved. */
  editor(question: {
    message: string;
    initial: string;
    extension: string;
    /** See EditorOptions. */
    onFailure?: 'keep';
  }): Promise<string>;
}

interface Choice<T extends string> {
  value: T;
  name: string;
  description?: string;
}

/** What is wrong with an answer; true: nothing. */
type Check = true | string;

export interface PromptOptions {
  io: { stdin: { raw: NodeJS.ReadableStream }; stderr: TerminalWriter };
  env: Readonly<Record<string, string | undefined>>;
  /** As `process.platform`. */
  platform?: string;
  signal: AbortSignal;
  /** `never` with --no-color. */
  color?: 'auto' | 'never';
}

/** What inquirer is given besides the question. */
interface Surroundings {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  signal: AbortSignal;
}

export function createPrompt({ io, env, platform, signal, color = 'auto' }: PromptOptions): Prompt {
  const colors = takesColors({ isTTY: io.stderr.isTTY, env, color }) ? 'colors' : 'no-colors';
  const ask = <T>(question: (surroundings: Surroundings) => Promise<T>, until?: AbortSignal) =>
    askOnce(question, io.stdin.raw, new TerminalStream(io.stderr, colors), { signal, until });
  return {
    confirm: ({ message, default: answer = 'no' }) =>
      ask((around) => confirm({ message: safeLine(message), default: answer === 'yes' }, around)),
    input: ({ message, default: answer, validate }) =>
      ask((around) =>
        input(
          {
            message: safeLine(message),
            ...(answer === undefined ? {} : { default: answer }),
            ...(validate ? { validate } : {}),
          },
          around,
        ),
      ),
    select: ({ message, choices, default: answer, until }) =>
      ask(
        (around) =>
          select(
            {
              message: safeLine(message),
              choices: choices.map(shown),
              ...(answer === undefined ? {} : { default: answer }),
            },
            around,
          ),
        until,
      ),
    search: ({ message, choices }) =>
      ask((around) =>
        search(
          {
            message: safeLine(message),
            source: async (typed = '', { signal }) => (await choices(typed, signal)).map(shown),
          },
          around,
        ),
      ),
    // The input is not shown, nor a star per character, which would disclose the length.
    secret: ({ message }) => ask((around) => password({ message: safeLine(message), toggleMask: false }, around)),
    async editor({ message, ...text }) {
      await io.stderr.write(`${safeLine(message)}\n`);
      return await editText({ ...text, env, platform, signal });
    },
  };
}

/** Names come from servers and repositories; values go back as they are. */
function shown<T extends string>({ value, name, description }: Choice<T>): Choice<T> {
  return { value, name: safeLine(name), ...(description === undefined ? {} : { description: safeLine(description) }) };
}

async function askOnce<T>(
  question: (surroundings: Surroundings) => Promise<T>,
  source: NodeJS.ReadableStream,
  output: TerminalStream,
  { signal, until }: { signal: AbortSignal; until: AbortSignal | undefined },
): Promise<T> {
  const closed = new AbortController();
  const watch = watchInput(source, closed);
  try {
    return await question({
      input: source,
      output: output,
      signal: AbortSignal.any([signal, closed.signal, ...(until ? [until] : [])]),
    });
  } catch (error) {
    if (until?.aborted && !signal.aborted) throw until.reason;
    throw interruption(error, signal);
  } finally {
    watch.end();
    await output.drained();
  }
}

/**
 * Ctrl-D and the end of the input close readline without an answer, and inquirer then waits for ever. Readline pauses
 * its input when it closes; a question that is open after that never ends.
 */
function watchInput(source: NodeJS.ReadableStream, closed: AbortController): { end(): void } {
  let open = true;
  const check = (): void => {
    setImmediate(() => {
      if (open) closed.abort();
    });
  };
  source.on('pause', check);
  source.on('end', check);
  return {
    end() {
      open = false;
      source.removeListener('pause', check);
      source.removeListener('end', check);
    },
  };
}

function interruption(error: unknown, signal: AbortSignal): unknown {
  const name = error instanceof Error ? error.name : '';
  if (!['ExitPromptError', 'AbortPromptError', 'CancelPromptError'].includes(name)) return error;
  if (signal.aborted && isAppError(signal.reason)) return signal.reason;
  return new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130, cause: error });
}
