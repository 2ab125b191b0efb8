/** The text may hold secrets: the file is private and gone afterwards. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AppError, isAppError } from '../base/errors.ts';

export interface EditorOptions {
  initial: string;
  extension: string;
  env: Readonly<Record<string, string | undefined>>;
  platform?: string;
  signal: AbortSignal;
}

const USUAL_EDITORS = ['nano', 'vi'];

/** Throws `config` when the editor fails or cannot be started; `interrupted` on an abort. */
export async function editText(options: EditorOptions): Promise<string> {
  const { initial, extension } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-edit-'));
  const file = path.join(folder, `text${path.extname(`x${extension}`)}`);
  try {
    await writeFile(file, initial, { mode: 0o600, flag: 'wx' });
    await runFirstEditor(file, options);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runFirstEditor(file: string, around: EditorOptions): Promise<void> {
  const set = around.env.VISUAL?.trim() || around.env.EDITOR?.trim();
  if (set) return await runEditor(splitCommand(set, around.platform), file, around);
  for (const name of USUAL_EDITORS) {
    try {
      return await runEditor([name], file, around);
    } catch (error) {
      const cause = isAppError(error)
        ? (error.details.cause as { code?: unknown } | undefined)
        : undefined;
      if (cause?.code !== 'ENOENT') throw error;
    }
  }
  throw new AppError(
    'config',
    `no editor is set, and ${USUAL_EDITORS.join(' and ')} are not installed`,
    {
      hint: 'set EDITOR to one that works, or give the text in a file',
    },
  );
}

function runEditor(
  [program = '', ...args]: string[],
  file: string,
  { env, signal }: EditorOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (how: string, cause?: unknown): void => {
      if (signal.aborted && isAppError(signal.reason)) return reject(signal.reason);
      reject(
        new AppError('config', `the editor "${program}" ${how}`, {
          hint: 'set EDITOR to one that works, or give the text in a file',
          cause,
        }),
      );
    };
    if (signal.aborted) return fail('was not started');
    // Its screen goes to stderr: stdout may be a pipe that waits for data.
    const child = spawn(program, [...args, file], { stdio: ['inherit', 2, 2], env: { ...env } });
    const stop = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      fail(
        error.code === 'ENOENT'
          ? 'was not found'
          : `could not be started (${error.code ?? error.message})`,
        error,
      );
    });
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', stop);
      if (code === 0) resolve();
      else
        fail(
          killedBy
            ? `was killed by ${killedBy}`
            : `exited with code ${code}; its changes were not used`,
        );
    });
  });
}

/** A word: unquoted characters and quoted pieces; a quote without its end is a character. */
const WORD = /(?:[^\s"'\\]|\\[^]|"(?:[^"\\]|\\[^])*"|'[^']*'|["'\\])+/g;
const PIECE = /\\([^])|"((?:[^"\\]|\\[^])*)"|'([^']*)'/g;

/** Applies the quoting rules of a POSIX shell. On Windows a backslash does not escape. */
export function splitCommand(command: string, platform = 'posix'): string[] {
  const text = platform === 'win32' ? command.replaceAll('\\', '\\\\') : command;
  return (text.match(WORD) ?? []).map((word) =>
    word.replace(
      PIECE,
      (_, escaped?: string, inDouble?: string, inSingle?: string) =>
        escaped ?? inDouble?.replace(/\\([$`"\\])/g, '$1') ?? inSingle ?? '',
    ),
  );
}
