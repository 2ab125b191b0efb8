/** The text may hold secrets: the file is private and gone afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../base/errors.ts';
import { inTemporaryFolder } from '../base/temporary-folder.ts';

export interface EditorOptions {
  initial: string;
  extension: string;
  env: NodeJS.ProcessEnv;
  platform?: string;
  signal: AbortSignal;
}

const USUAL_EDITORS = ['nano', 'vi'];

/** Throws `config` when the editor fails or cannot be started; `interrupted` on an abort. */
export async function editText(options: EditorOptions): Promise<string> {
  const { initial, extension } = options;
  return await inTemporaryFolder('acs-edit-', async (folder) => {
    const file = path.join(folder, `text${path.extname(`x${extension}`)}`);
    await writeFile(file, initial, { mode: 0o600, flag: 'wx' });
    await runFirstEditor(file, options);
    return await readFile(file, 'utf8');
  });
}

async function runFirstEditor(file: string, options: EditorOptions): Promise<void> {
  const { env, platform } = options;
  const set = env.VISUAL?.trim() || env.EDITOR?.trim();
  const commands = set ? [splitCommand(set, platform)] : USUAL_EDITORS.map((name) => [name]);
  for (const command of commands) if (await runEditor(command, file, options)) return;
  throw editorError(
    set
      ? `the editor "${commands[0]?.[0]}" was not found`
      : `no editor is set, and ${USUAL_EDITORS.join(' and ')} are not installed`,
  );
}

/** False: it is not installed. */
async function runEditor(
  [program = '', ...args]: string[],
  file: string,
  { env, signal }: EditorOptions,
): Promise<boolean> {
  signal.throwIfAborted();
  // Its screen goes to stderr: stdout may be a pipe that waits for data.
  const child = spawn(program, [...args, file], { stdio: ['inherit', 2, 2], env: { ...env } });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
    if (code === 0) return true;
    const how =
      code === null
        ? `was killed by ${killedBy}`
        : `exited with code ${code}; its changes were not used`;
    throw editorError(`the editor "${program}" ${how}`);
  } catch (error) {
    signal.throwIfAborted();
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (syscall === undefined) throw error;
    throw editorError(`the editor "${program}" could not be started (${code})`, error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function editorError(message: string, cause?: unknown): AppError {
  return new AppError('config', message, {
    hint: 'set EDITOR to one that works, or give the text in a file',
    cause,
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
