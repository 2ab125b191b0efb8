import { execFile, type ExecFileException } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { cut } from '../../base/text/well-formed.ts';
import { bubblewrapTrial } from './bubblewrap.ts';
import { bubblewrapCommand } from './namespace-limit.ts';

/** How `unshare`, `bwrap` and the shell report EPERM and EACCES. */
const NOT_PERMITTED = /operation not permitted|permission denied|no permissions/i;

/** The trial failed for a temporary reason, such as exhausted user namespaces. */
export class TrialFailed extends Error {
  override readonly name = 'TrialFailed';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The trial with its result as data, also where it failed. Throws the reason of the signal. */
export async function tryIsolation(
  env: Environment,
  signal: AbortSignal,
): Promise<{ state: 'works' } | { state: 'unavailable' | 'failed'; why: string }> {
  try {
    const why = await whyNoBubblewrap(env, signal);
    return why === null ? { state: 'works' } : { state: 'unavailable', why };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TrialFailed)) throw error;
    return { state: 'failed', why: error.message };
  }
}

/** Null: it works; a text: not installed or not permitted. Throws TrialFailed otherwise. */
export async function whyNoBubblewrap(
  env: Environment,
  signal?: AbortSignal,
): Promise<string | null> {
  const { PATH = '' } = env;
  let command: ReturnType<typeof bubblewrapCommand>;
  try {
    command = bubblewrapCommand(bubblewrapTrial(), PATH);
  } catch (error) {
    return (error as Error).message;
  }
  const failure = await commandFailure(command.file, command.args, env, signal);
  if (failure === null) return null;
  if (NOT_PERMITTED.test(failure)) return failure;
  const missing = missingFromKernel();
  if (missing !== null) return missing;
  throw new TrialFailed(failure);
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
