/** The user's own editor on a text that may hold secrets: the file is private and gone afterwards. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AppError, isAppError } from '../errors.ts';

export interface EditorOptions {
  initial: string;
  /** With its dot, e.g. `.md`: editors choose their colours by it. */
  extension: string;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
}

/**
 * Opens $VISUAL or $EDITOR and returns what was saved.
 * @throws config when none is set, it cannot be started or it ends with a failure; interrupted when the signal aborts
 */
export async function editText({ initial, extension, env, signal }: EditorOptions): Promise<string> {
  const command = env.VISUAL?.trim() || env.EDITOR?.trim();
  if (!command) {
    throw new AppError('config', 'no editor is set', {
      hint: 'set EDITOR, e.g. EDITOR=nano, or give the text in a file',
    });
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-edit-'));
  try {
    const file = path.join(folder, `text${path.extname(`x${extension}`)}`);
    await writeFile(file, initial, { mode: 0o600, flag: 'wx' });
    await runEditor(splitCommand(command), file, { env, signal });
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runEditor(
  command: string[],
  file: string,
  { env, signal }: Pick<EditorOptions, 'env' | 'signal'>,
): Promise<void> {
  const [program = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const fail = (how: string): void => {
      if (signal.aborted && isAppError(signal.reason)) return reject(signal.reason);
      reject(
        new AppError('config', `the editor "${program}" ${how}`, {
          hint: 'set EDITOR to one that works, or give the text in a file',
        }),
      );
    };
    if (signal.aborted) return fail('was not started');
    // Its screen goes to stderr: stdout may be a pipe that waits for data.
    const child = spawn(program, [...args, file], { stdio: ['inherit', 2, 2], env: { ...env } });
    const stop = (): void => {
      child.kill('SIGTERM');
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      fail(error.code === 'ENOENT' ? 'was not found' : `could not be started (${error.code ?? error.message})`);
    });
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', stop);
      if (code === 0) resolve();
      else fail(killedBy ? `was ended by ${killedBy}` : `ended with code ${code}; nothing was taken over`);
    });
  });
}

/** `code --wait` and `"/opt/my editor/edit" -f`: words, with quotes around blanks. No shell. */
export function splitCommand(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}
