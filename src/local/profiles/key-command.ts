import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { AppError, isAppError } from '../../base/errors.ts';
import { endTree } from '../../base/end-tree.ts';
import { createRedactor } from '../../base/text/redact.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface KeyCommandOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  /** Takes each line of stderr at once. The key is removed only where it came on stdout before. */
  report(line: string): void;
  timeoutMs?: number;
}

const MAX_OUTPUT_BYTES = 16_384;

/** Its stdin is empty: that of acs may be a message. Throws `config` on failure or a limit. */
export async function runKeyCommand(command: string, options: KeyCommandOptions): Promise<string> {
  const { cwd, signal, report, timeoutMs = 30_000 } = options;
  signal.throwIfAborted();
  const stdio = ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, {
    shell: true,
    cwd,
    env: { ...options.env },
    stdio,
    windowsHide: true,
  });
  // Also emitted for a signal that a command of another user refuses.
  child.on('error', () => undefined);
  let printed = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    const shown = cut(createRedactor([printed]).known(line), 500);
    if (shown.trim() !== '') report(shown);
  });
  const stop = new AbortController();
  const interrupt = () => stop.abort(signal.reason);
  signal.addEventListener('abort', interrupt);
  const late = setTimeout(
    () => stop.abort(failure(`did not exit within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    if (printed.length <= MAX_OUTPUT_BYTES) return;
    child.stdout.pause();
    stop.abort(failure('printed more than a key'));
  });
  try {
    const ended = await once(child, 'close', { signal: stop.signal });
    const [code, killedBy] = ended as [number | null, string | null];
    if (code === 0) return printed;
    throw failure(code === null ? `was killed by ${killedBy}` : `exited with code ${code}`);
  } catch (error) {
    if (stop.signal.aborted) {
      await endTree(child);
      throw stop.signal.reason;
    }
    throw isAppError(error) ? error : failure(`could not be started: ${(error as Error).message}`);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', interrupt);
    // A process that the command left behind may hold the pipes open.
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** The command itself is not repeated: some hold a token. */
function failure(what: string): AppError {
  return new AppError('config', `the profile's key command ${what}`, {
    hint: 'run the command to see why; replace it with: acs login <name> --key-command <command>',
  });
}
