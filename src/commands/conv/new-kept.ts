/** A message that was typed and not sent: it is kept in a file that the error names. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, isAppError } from '../../errors.ts';

/** Set as soon as the message is typed, and back to null when a server has taken it. */
export interface TypedMessage {
  text: string | null;
}

/**
 * Runs the work with a typed message; when it fails before a server took the message, the error names its file.
 * @param command what takes the file by --file
 */
export async function keepingMessage<T>(
  ctx: Context,
  command: string,
  work: (typed: TypedMessage) => Promise<T>,
): Promise<T> {
  const typed: TypedMessage = { text: null };
  try {
    return await work(typed);
  } catch (error) {
    if (typed.text === null || ctx.globals.mode === 'dry-run') throw error;
    const file = await keep(typed.text);
    const again = `your message is saved in ${file}; use it: ${command} --file ${file}`;
    if (!isAppError(error)) {
      await ctx.notice(again);
      throw error;
    }
    const { hint, ...details } = error.details;
    throw new AppError(error.kind, error.message, {
      ...details,
      hint: hint === undefined ? again : `${hint}; ${again}`,
      data: { ...details.data, kept_in: file },
    });
  }
}

async function keep(text: string): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'acs-message-')), 'message.md');
  await writeFile(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
  return file;
}
