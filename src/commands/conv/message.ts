import path from 'node:path';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import { readNamedFile } from '../shared/files.ts';
import { cut } from '../../base/text/well-formed.ts';

/** No server in use takes more in one request. */
const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

/** `-` is stdin. Null when neither is given. Throws `usage` for both or an invalid one. */
export async function readMessage(
  ctx: Context,
  { argument, file }: { argument?: string; file?: string },
): Promise<string | null> {
  if (argument !== undefined && file !== undefined)
    throw new AppError('usage', 'the message is given twice, as an argument and with --file');
  const source = argument === '-' ? '-' : file;
  const text = source === undefined ? argument : await readTextInput(ctx, source);
  if (text === undefined) return null;
  checkMessage(text);
  return text;
}

/** Throws `usage` when the message is left empty. */
export async function writeMessage(
  ctx: Context,
  question: string,
  typed: TypedMessage,
): Promise<string> {
  const prompt = await ctx.terminal.prompt();
  const written = await prompt.editor({
    message: 'Opening your editor …',
    initial: `\n# ${question} This line is removed.\n`,
    extension: '.md',
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

/** Set as soon as the message is typed, and back to null when a server has taken it. */
export interface TypedMessage {
  text: string | null;
}

/** A failure before a server took the message prints it, so that the text is not lost. */
export async function showingUnsent<T>(
  ctx: Context,
  work: (typed: TypedMessage) => Promise<T>,
): Promise<T> {
  const typed: TypedMessage = { text: null };
  try {
    return await work(typed);
  } catch (error) {
    if (typed.text !== null && ctx.globals.mode !== 'dry-run')
      await ctx.notice(`the message was not sent:\n${typed.text}`, 'question');
    throw error;
  }
}

/** Throws `usage` for a message that no agent could act on, or that is too long to send. */
export function checkMessage(text: string): void {
  if (text.trim() === '') throw new AppError('usage', 'the message is empty');
  const bytes = Buffer.byteLength(text);
  if (bytes > MESSAGE_MAX_BYTES) throw tooLong('the message', bytes);
}

/** `-` is stdin. Throws `usage` for invalid or too long text, `config` when unreadable. */
export async function readTextInput(ctx: Context, source: string): Promise<string> {
  if (source !== '-') return await readTextFile(ctx, source);
  return decode(await ctx.terminal.io.stdin.readAll(MESSAGE_MAX_BYTES), 'stdin');
}

/** Relative to where the command runs. Throws `config` when the file cannot be read. */
async function readInputFile(ctx: Context, file: string, maxBytes: number): Promise<Uint8Array> {
  return await readNamedFile(ctx, file, (size) => {
    if (size > maxBytes) throw tooLong(file, size);
  });
}

/** Throws `usage` when the text is not UTF-8. */
export async function readTextFile(
  ctx: Context,
  file: string,
  maxBytes = MESSAGE_MAX_BYTES,
): Promise<string> {
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
  return new AppError(
    'usage',
    `${name} has ${(bytes / 1024 / 1024).toFixed(1)} MiB; the limit is ${limit} MiB`,
    {
      hint: 'put long texts into the repository and give their paths',
    },
  );
}

const IMAGE_MAX_BYTES = 10 * 1024 * 1024;

const SIGNATURES = {
  png: /^\x89PNG/,
  jpeg: /^\xff\xd8\xff/,
  gif: /^GIF8/,
  webp: /^RIFF[^]{4}WEBP/,
};

/** Returns URLs. Throws `config` for an unreadable file, `usage` for no image or a large one. */
export async function readImages(ctx: Context, given: readonly string[]): Promise<string[]> {
  const urls: string[] = [];
  for (const image of given) {
    if (/^(?:https?|data):/i.test(image)) {
      if (/^data:/i.test(image) ? !/^data:image\//i.test(image) : !URL.canParse(image))
        throw new AppError('usage', `--image: "${cut(image, 100)}" is not an image URL`);
      urls.push(image);
      continue;
    }
    const bytes = Buffer.from(await readInputFile(ctx, image, IMAGE_MAX_BYTES));
    const found = Object.entries(SIGNATURES).find(([, pattern]) =>
      pattern.test(bytes.toString('latin1', 0, 12)),
    );
    if (found === undefined)
      throw new AppError(
        'usage',
        `--image: ${path.basename(image)} is not an image in a supported format`,
        {
          hint: 'supported formats: PNG, JPEG, GIF, WebP',
        },
      );
    urls.push(`data:image/${found[0]};base64,${bytes.toString('base64')}`);
  }
  return urls;
}
