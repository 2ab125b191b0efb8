/** The words for the agent: an argument, a file or stdin. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { readNamedFile } from '../files.ts';
import type { TypedMessage } from './new-kept.ts';

/** Larger ones no server in use takes in one request. */
const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

export interface MessageSource {
  /** `-` reads stdin. */
  argument?: string;
  /** Path or `-`. */
  file?: string;
}

/** Null when neither is given. Throws `usage` when both are, or when the message is empty or not text. */
export async function readMessage(ctx: Context, { argument, file }: MessageSource): Promise<string | null> {
  if (argument !== undefined && file !== undefined) {
    throw new AppError('usage', 'the message is given twice, as an argument and with --file');
  }
  const source = argument === '-' ? '-' : file;
  const text = source === undefined ? argument : await readTextInput(ctx, source);
  if (text === undefined) return null;
  checkMessage(text);
  return text;
}

/** Opens the user's editor on an empty message. Throws `usage` when it is left empty. */
export async function writeMessage(ctx: Context, question: string, typed: TypedMessage): Promise<string> {
  const prompt = await ctx.prompt();
  const written = await prompt.editor({
    message: 'Opening your editor …',
    initial: `\n# ${question} This line is removed.\n`,
    extension: '.md',
    onFailure: 'keep',
  });
  const message = written
    .split('\n')
    .filter((line) => !line.startsWith(`# ${question}`))
    .join('\n')
    .trim();
  typed.text = message === '' ? null : message;
  checkMessage(message);
  return message;
}

/** Throws `usage` for a message that no agent could act on, or that is too long to send. */
export function checkMessage(text: string): void {
  if (text.trim() === '') throw new AppError('usage', 'the message is empty');
  const bytes = Buffer.byteLength(text);
  if (bytes > MESSAGE_MAX_BYTES) throw tooLong('the message', bytes);
}

/** A file, or stdin for `-`. Throws `usage` for what is not UTF-8 or too long, `config` when it cannot be read. */
export async function readTextInput(ctx: Context, source: string): Promise<string> {
  if (source !== '-') return await readTextFile(ctx, source);
  return decode(await ctx.io.stdin.readAll(MESSAGE_MAX_BYTES), 'stdin');
}

/** A file named on the command line, relative to where the command runs. Throws `config` when it cannot be read. */
export async function readInputFile(ctx: Context, file: string, maxBytes: number): Promise<Uint8Array> {
  return await readNamedFile(ctx, file, (size) => {
    if (size > maxBytes) throw tooLong(file, size);
  });
}

/** As readInputFile, for text. Throws `usage` when it is not UTF-8. */
export async function readTextFile(ctx: Context, file: string, maxBytes = MESSAGE_MAX_BYTES): Promise<string> {
  return decode(await readInputFile(ctx, file, maxBytes), file);
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AppError('usage', `${name} is not valid UTF-8 text`);
  }
}

function tooLong(name: string, bytes: number): AppError {
  const limit = MESSAGE_MAX_BYTES / 1024 / 1024;
  return new AppError('usage', `${name} has ${(bytes / 1024 / 1024).toFixed(1)} MiB; the limit is ${limit} MiB`, {
    hint: 'put long texts into the repository and give their paths',
  });
}
