import { spawn } from 'node:child_process';
import { AppError } from '../errors.ts';
import { endTree } from '../processes/end-tree.ts';

export interface KeyCommandOptions {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Aborting ends the command; the reason is thrown. */
  signal: AbortSignal;
  /**
   * One line that the command wrote to stderr, at once, because it may ask the user to do something. The key is removed
   * only where it came on stdout before.
   */
  report(line: string): void;
  /** Default 30 s. */
  timeoutMs?: number;
}

const MAX_OUTPUT_BYTES = 16_384;

/**
 * Runs a key command through the shell and returns what it printed. Its stdin is empty, so that it cannot take a message
 * meant for acs; a password manager prompts on the terminal itself.
 * Throws `config` when it fails, prints too much or takes too long.
 */
export function runKeyCommand(command: string, options: KeyCommandOptions): Promise<string> {
  const { timeoutMs = 30_000, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(asError(signal.reason));
    const child = spawn(command, {
      shell: true,
      cwd: options.cwd,
      env: { ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    let printed = '';
    const lines = lineReader((line) => options.report(hideKey(line, printed)));
    const end = (settle: () => void) => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', onAbort);
      // What the command left behind may hold the pipes open for ever.
      child.stdout.destroy();
      child.stderr.destroy();
      settle();
    };
    let isStopped = false;
    const stop = (error: Error) => {
      if (isStopped) return;
      isStopped = true;
      const ended = endTree(child);
      end(() => void ended.then(() => reject(error)));
    };
    const onAbort = () => stop(asError(signal.reason));
    const deadline = setTimeout(() => stop(failure(`did not exit within ${timeoutMs / 1000} s`)), timeoutMs);
    signal.addEventListener('abort', onAbort);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (printed.length > MAX_OUTPUT_BYTES) stop(failure('printed more than a key'));
    });
    child.stderr.setEncoding('utf8').on('data', lines.push);
    child.on('error', (error) => end(() => reject(failure(`could not be started: ${error.message}`))));
    child.on('close', (code, killedBy) => {
      lines.flush();
      if (isStopped) return;
      if (code === 0) return end(() => resolve(printed));
      end(() => reject(failure(code === null ? `was killed by ${killedBy}` : `exited with code ${code}`)));
    });
  });
}

/** The command itself is not repeated: some hold a token. */
function failure(what: string): AppError {
  return new AppError('config', `the profile's key command ${what}`, {
    hint: 'run the command to see why; replace it with: acs profile add <name> --key-command <command> --replace',
  });
}

function hideKey(line: string, printed: string): string {
  const key = printed.trim();
  return key.length < 4 ? line : line.replaceAll(key, '***');
}

function lineReader(take: (line: string) => void): { push: (text: string) => void; flush: () => void } {
  let rest = '';
  const emit = (line: string) => {
    if (line.trim() !== '') take(line.slice(0, 500));
  };
  return {
    push(text) {
      const parts = (rest + text).split(/\r?\n/);
      rest = (parts.pop() ?? '').slice(-MAX_OUTPUT_BYTES);
      parts.forEach(emit);
    },
    flush() {
      emit(rest);
      rest = '';
    },
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new AppError('interrupted', 'interrupted');
}
