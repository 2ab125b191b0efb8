import { execFile } from 'node:child_process';
import { AppError } from '../errors.ts';
import { endTree } from '../processes/end-tree.ts';

export interface GitOptions {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Aborting ends git; the reason is thrown. */
  signal?: AbortSignal;
  /** Default 10 s. */
  timeoutMs?: number;
  /** What git reads from stdin; nothing without it. */
  input?: Uint8Array | string;
  /** Of stdout: paths may be in any encoding, and latin1 keeps each byte as one character. Default utf8. */
  encoding?: 'utf8' | 'latin1';
  /** Where git works instead of the repository and the index of `cwd`: GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE. */
  place?: Readonly<Record<string, string>>;
}

export interface GitResult {
  /** Exit code; null when git was ended because it took too long. */
  code: number | null;
  stdout: string;
  /** With credentials in URLs replaced. */
  stderr: string;
}

/** Set by git for its hooks; they would turn every question to the repository of the hook. */
const FOREIGN = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_PREFIX', 'GIT_NAMESPACE'];

/**
 * Runs git. Never prompts, takes no locks, and runs neither hooks nor what a repository's own configuration names as a file
 * system monitor. Nothing that git started outlives the answer. Throws `config` when git is not installed, and the
 * signal's reason.
 */
export function git(args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { cwd, signal, timeoutMs = 10_000, encoding = 'utf8' } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const child = execFile(
      'git',
      ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'protocol.ext.allow=never', ...args],
      { cwd, env: { ...gitEnvironment(options.env), ...options.place }, maxBuffer: 64 * 1024 * 1024, encoding },
      (error, stdout, stderr) => {
        clearTimeout(deadline);
        signal?.removeEventListener('abort', stop);
        if (signal?.aborted) return reject(reasonOf(signal));
        const code = error ? (error as NodeJS.ErrnoException).code : 0;
        if (code === 'ENOENT') return reject(gitMissing(cwd, error));
        resolve({ code: typeof code === 'number' ? code : null, stdout, stderr: hideCredentials(stderr.trim()) });
      },
    );
    // Git may end without reading all of it: its exit code shows the reason.
    child.stdin?.on('error', () => undefined).end(options.input);
    const stop = () =>
      void endTree(child).then(() => {
        // What has left git by then may hold the pipes open.
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
    const deadline = setTimeout(stop, timeoutMs);
    signal?.addEventListener('abort', stop);
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new AppError('interrupted', 'interrupted');
}

/** Replaces user names, passwords and tokens inside URLs. */
export function hideCredentials(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@');
}

function gitEnvironment(env: GitOptions['env']): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !FOREIGN.includes(name));
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    // ssh opens the terminal itself and prompts there; GIT_TERMINAL_PROMPT does not prevent that.
    SSH_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'force',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
}

/** Node reports ENOENT for a missing folder as for a missing program. */
function gitMissing(cwd: string, cause: unknown): AppError {
  return new AppError('config', `cannot run git in ${cwd}`, {
    hint: 'check that git is installed and that the folder exists',
    cause,
  });
}
