import { execFile, type ExecFileException } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { cut } from '../../base/text/well-formed.ts';
import { bubblewrapTrial } from './bubblewrap.ts';
import { bubblewrapCommand } from './namespace-limit.ts';

/** How `unshare`, `bwrap` and the shell report EPERM and EACCES. */
const NOT_PERMITTED = /operation not permitted|permission denied|no permissions/i;

type Environment = Readonly<Record<string, string | undefined>>;

/** `unavailable`: not installed or not permitted; `failed`: for another reason. */
export async function tryIsolation(
  env: Environment,
  signal?: AbortSignal,
): Promise<{ state: 'works' } | { state: 'unavailable' | 'failed'; why: string }> {
  let command: ReturnType<typeof bubblewrapCommand>;
  try {
    command = bubblewrapCommand(bubblewrapTrial(), env['PATH']);
  } catch (error) {
    return { state: 'unavailable', why: (error as Error).message };
  }
  const failure = await commandFailure(command.file, command.args, env, signal);
  signal?.throwIfAborted();
  if (failure === null) return { state: 'works' };
  const why = NOT_PERMITTED.test(failure) ? failure : missingFromKernel();
  return why === null ? { state: 'failed', why: failure } : { state: 'unavailable', why };
}

/** The first line of its error output, or how it ended; null: it ended with exit code 0. */
export async function commandFailure(
  file: string,
  args: string[],
  { PATH }: Environment,
  signal?: AbortSignal,
): Promise<string | null> {
  const env = { PATH, LC_ALL: 'C' };
  try {
    await promisify(execFile)(file, args, { timeout: 10_000, killSignal: 'SIGKILL', env, signal });
    return null;
  } catch (error) {
    const { stderr = '', signal, code } = error as ExecFileException;
    const end = signal == null ? `with exit code ${code}` : `by signal ${signal}`;
    return firstLine(stderr) || `bwrap ended ${end}`;
  }
}

function missingFromKernel(): string | null {
  try {
    const most = readFileSync('/proc/sys/user/max_user_namespaces', 'utf8').trim();
    return most === '0'
      ? 'user namespaces are not permitted (user.max_user_namespaces is 0)'
      : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return null;
    return 'the kernel has no limit of namespaces (user.max_user_namespaces)';
  }
}

export function firstLine(text: string): string {
  return cut(text.trim().split('\n', 1)[0] ?? '', 300);
}
