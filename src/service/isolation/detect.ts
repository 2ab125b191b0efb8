/** Whether bubblewrap works on this machine: decided once, when the service starts. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bubblewrapTrial } from './bubblewrap.ts';
import { bubblewrapCommand } from './namespace-limit.ts';

const TRIAL_TIMEOUT_MS = 10_000;
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

/**
 * Starts and ends an empty sandbox. Null: bubblewrap works. A text: it is not installed or not permitted, in one line.
 * @throws TrialFailed on any other failure
 */
export async function whyNoBubblewrap(env: Environment, signal?: AbortSignal): Promise<string | null> {
  const { PATH = '' } = env;
  let command: ReturnType<typeof bubblewrapCommand>;
  try {
    command = bubblewrapCommand(bubblewrapTrial(), PATH);
  } catch (error) {
    return (error as Error).message;
  }
  const failure = await failureOf(command.file, command.args, { PATH, LC_ALL: 'C' }, signal);
  if (failure === null) return null;
  if (NOT_PERMITTED.test(failure)) return failure;
  const missing = missingFromKernel();
  if (missing !== null) return missing;
  throw new TrialFailed(failure);
}

function failureOf(
  file: string,
  args: string[],
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { timeout: TRIAL_TIMEOUT_MS, killSignal: 'SIGKILL', encoding: 'utf8', env, signal } as const;
    execFile(file, args, options, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else resolve(firstLine(stderr) || endOf(error));
    });
  });
}

function endOf({ signal, code }: { signal?: NodeJS.Signals; code?: unknown }): string {
  return signal == null ? `bwrap ended with exit code ${String(code)}` : `bwrap ended by signal ${signal}`;
}

/** What the kernel of this machine lacks for a sandbox, or was configured not to permit; null: nothing. */
function missingFromKernel(): string | null {
  try {
    const most = readFileSync('/proc/sys/user/max_user_namespaces', 'utf8').trim();
    return most === '0' ? 'user namespaces are not permitted (user.max_user_namespaces is 0)' : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return null;
    return 'the kernel has no limit of namespaces (user.max_user_namespaces)';
  }
}

export function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]?.slice(0, 300) ?? '';
}
