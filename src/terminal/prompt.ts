/** On stderr: stdout stays data. The one owner of inquirer; loaded with the first question. */
import { confirm, input, password, select } from '@inquirer/prompts';
import { AppError, isAppError } from '../cli/errors.ts';
import { safeLine } from '../output/text/safe-text.ts';
import { editText } from './editor.ts';
import { takesColors } from './palette.ts';
import { TerminalStream, type TerminalWriter } from './writable.ts';

/** All reject with AppError `interrupted` on Ctrl-C. */
export interface Prompt {
  confirm(question: { message: string; default?: 'yes' | 'no' }): Promise<boolean>;
  input(question: {
    message: string;
    default?: string;
    validate?: (value: string) => true | string | Promise<true | string>;
    until?: AbortSignal;
  }): Promise<string>;
  select<T extends string>(question: {
    message: string;
    choices: readonly { value: T; name: string; description?: string }[];
    default?: T;
  }): Promise<T>;
  secret(question: { message: string }): Promise<string>;
  editor(question: {
    message: string;
    initial: string;
    extension: string;
    /** See EditorOptions. */
    onFailure?: 'keep';
  }): Promise<string>;
}

interface Surroundings {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  signal: AbortSignal;
}

export function createPrompt({
  io,
  env,
  platform,
  signal,
  color = 'auto',
}: {
  io: { stdin: { raw: NodeJS.ReadableStream }; stderr: TerminalWriter };
  env: Readonly<Record<string, string | undefined>>;
  platform?: string;
  signal: AbortSignal;
  color?: 'auto' | 'never';
}): Prompt {
  const colors = takesColors({ isTTY: io.stderr.isTTY, env, color }) ? 'colors' : 'no-colors';
  const ask = async <T>(question: (around: Surroundings) => Promise<T>, until?: AbortSignal): Promise<T> => {
    const source = io.stdin.raw;
    const output = new TerminalStream(io.stderr, colors);
    // Ctrl-D closes readline, which pauses its input, without an answer; inquirer then waits for ever.
    const closed = new AbortController();
    let isOpen = true;
    const check = (): void => void setImmediate(() => isOpen && closed.abort());
    source.on('pause', check).on('end', check);
    try {
      const signals = [signal, closed.signal, ...(until ? [until] : [])];
      return await question({ input: source, output, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (until?.aborted && !signal.aborted) throw until.reason;
      const name = error instanceof Error ? error.name : '';
      if (!['ExitPromptError', 'AbortPromptError', 'CancelPromptError'].includes(name)) throw error;
      if (signal.aborted && isAppError(signal.reason)) throw signal.reason;
      throw new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130, cause: error });
    } finally {
      isOpen = false;
      source.off('pause', check).off('end', check);
      await output.drained();
    }
  };
  return {
    confirm: ({ message, default: answer = 'no' }) =>
      ask((around) => confirm({ message: safeLine(message), default: answer === 'yes' }, around)),
    input: ({ message, default: answer, validate, until }) =>
      ask(
        (around) =>
          input(
            {
              message: safeLine(message),
              ...(answer === undefined ? {} : { default: answer }),
              ...(validate ? { validate } : {}),
            },
            around,
          ),
        until,
      ),
    select: ({ message, choices, default: answer }) =>
      ask((around) =>
        select(
          {
            message: safeLine(message),
            // Names come from servers and repositories; values go back as they are.
            choices: choices.map(({ value, name, description }) => ({
              value,
              name: safeLine(name),
              ...(description === undefined ? {} : { description: safeLine(description) }),
            })),
            ...(answer === undefined ? {} : { default: answer }),
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
