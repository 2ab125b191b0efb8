import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { AppError, isOfKind, nullIf } from '../../base/errors.ts';
import { endTree } from '../../base/end-tree.ts';
import { GIT_DEFAULTS, withoutPrograms } from '../../base/git-config.ts';

export interface GitOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  timeoutMs?: number;
  input?: Uint8Array | string;
  /** The encoding of stdout: latin1 keeps each byte of a path as one character. Default utf8. */
  encoding?: 'utf8' | 'latin1';
  /** GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE. */
  repositoryEnv?: Readonly<Record<string, string>>;
}

/** Git sets some for its hooks: acs would read another repository, configuration or paths. */
const FOREIGN = (
  'GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX GIT_NAMESPACE ' +
  'GIT_LITERAL_PATHSPECS GIT_CONFIG GIT_ATTR_SOURCE GIT_DEFAULT_HASH'
).split(' ');

/**
 * No prompts and no locks. CRLF of a file counts as LF where the commit has LF. The code is null
 * when git was ended because it took too long; in stderr the credentials in URLs are replaced.
 * Throws `config` without git, and the signal's reason.
 */
export async function git(
  args: readonly string[],
  options: GitOptions,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { cwd, signal, timeoutMs = 10_000, encoding = 'utf8' } = options;
  signal?.throwIfAborted();
  const running = promisify(execFile)(
    'git',
    [...GIT_DEFAULTS, '-c', 'core.autocrlf=input', ...args],
    {
      cwd,
      env: { ...gitEnvironment(options.env), ...options.repositoryEnv },
      maxBuffer: 64 * 1024 * 1024,
      encoding,
    },
  );
  const { child } = running;
  // Git may end without reading all of it: its exit code shows the reason.
  child.stdin?.on('error', () => undefined).end(options.input);
  const stop = () =>
    void endTree(child).then(() => {
      // A process that has left git may hold the pipes open.
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
  const deadline = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop);
  const ended = await running
    .then((output) => ({ ...output, code: 0 }))
    .catch((error: { code?: string | number; stdout: string; stderr: string }) => error)
    .finally(() => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', stop);
    });
  signal?.throwIfAborted();
  const { code, stdout, stderr } = ended;
  // Node reports it for a missing folder as for a missing program.
  if (code === 'ENOENT') {
    const [reason, hint] = existsSync(cwd)
      ? ['git is not installed', 'install git, or add its folder to PATH']
      : [`the folder ${cwd} does not exist`, undefined];
    throw new AppError('config', `cannot run git: ${reason}`, { hint, cause: ended });
  }
  const hidden = stderr.trim().replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@');
  return { code: typeof code === 'number' ? code : null, stdout, stderr: hidden };
}

/** Options without the filters and merge drivers of the repository. */
export async function inRepository<T extends GitOptions>(options: T): Promise<T> {
  const { stdout } = await git(['config', '--list', '--name-only'], options);
  return { ...options, env: withoutPrograms(stdout, options.env) };
}

/** The id of what is named; null: there is nothing of this name. */
export async function revision(name: string, options: GitOptions): Promise<string | null> {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', name], options);
  return code === 0 ? stdout.trim() : null;
}

/** Null: git is not installed. */
export async function gitVersion(options: GitOptions): Promise<string | null> {
  const version = await git(['--version'], options).catch(nullIf(isOfKind('config')));
  return version === null ? null : version.stdout.trim().replace(/^git version /, '');
}

function gitEnvironment(env: GitOptions['env']): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !FOREIGN.includes(name));
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    // ssh prompts on the terminal by itself; GIT_TERMINAL_PROMPT does not prevent that.
    SSH_ASKPASS: 'false',
    SSH_ASKPASS_REQUIRE: 'force',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ATTR_NOSYSTEM: '1',
    LC_ALL: 'C',
  };
}
