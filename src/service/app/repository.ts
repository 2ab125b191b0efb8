// Git runs outside the isolation with the credentials of the user: it clones into a folder that no
// agent has written to.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { GIT_DEFAULTS, GIT_IN_SHELL, withoutPrograms } from '../../base/git-config.ts';
import type { Provider } from '../../protocol/v1/requests.ts';
import { killProcesses } from '../isolation/processes.ts';
import { withParentDeathSignal } from '../isolation/parent-death-signal.ts';
import { basesOf } from '../base/worker-protocol.ts';
import { providerBase } from '../settings/git-providers.ts';
import { cut } from '../../base/text/well-formed.ts';
import {
  copyDependencies,
  excludeFolders,
  listing,
  reportOf,
  type Copied,
  type CopyRequest,
} from './dependencies.ts';
import { checkOutSubmodules } from './submodules.ts';

export interface RepositorySource {
  url: string;
  isLocal: boolean;
  name: string;
  /** Not in `url`, because a command line is shown. `credentials`: `user:password`. */
  login: { origin: string; credentials: string } | null;
}

export class RepositoryError extends Error {
  override readonly name = 'RepositoryError';
}

/** The form of a repository, wherever it may be: `owner/name` alone names no host. Null: none. */
export function repositoryForm(given: string): 'path' | 'url' | 'scp' | 'name' | null {
  if (path.isAbsolute(given)) return 'path';
  if (/^(?:https?|ssh|git|file):\/\//i.test(given)) return 'url';
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!\/\/)\S+$/.test(given)) return 'scp';
  return /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~ -]+)+$/.test(given) ? 'name' : null;
}

/** `stored`: the token of the provider, and its own host, if any. Throws RepositoryError. */
export function repositorySource(
  given: string,
  provider: Provider | null,
  stored: { token: string; host: string | null } | undefined,
): RepositorySource {
  const shown = shownRepository(given);
  if (/^-|[\u0000-\u001f\u007f]/.test(given))
    throw new RepositoryError(`'${cut(shown, 100)}' is not the name of a repository`);
  const form = repositoryForm(given);
  if (form === null) throw formError(given, shown);
  if (form === 'path' && !existsSync(given))
    throw new RepositoryError(`the repository ${given} does not exist`);
  const base = provider && providerBase(provider, stored?.host ?? null);
  const { url, credentials } =
    form === 'name'
      ? { url: urlOf(given, provider, base), credentials: null }
      : splitCredentials(given);
  let login: RepositorySource['login'] = null;
  if (credentials !== null) login = { origin: new URL(url).origin, credentials };
  // A token goes to the host it was given for, whatever the request names.
  else if (stored && base !== null && url.toLowerCase().startsWith(`${base.toLowerCase()}/`))
    login = { origin: base, credentials: `x-access-token:${stored.token}` };
  return {
    url,
    isLocal: form === 'path' || /^file:/i.test(given),
    name: folderName(given),
    login,
  };
}

function formError(given: string, shown: string): RepositoryError {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):(?:.*:)?\/\//i.exec(given) ?? [];
  const why = `'${cut(shown, 200)}' is not an absolute path, a URL or owner/name`;
  return new RepositoryError(scheme ? `git may not clone over '${scheme}' here` : why);
}

function urlOf(name: string, provider: Provider | null, base: string | null): string {
  if (provider === null) {
    throw new RepositoryError(
      `'${name}' names no host: give its git_provider, a URL or an absolute path`,
    );
  }
  if (base === null) throw new RepositoryError(`the host of ${provider} is not known: give a URL`);
  const parts = name.split('/').map(encodeURIComponent);
  if (provider !== 'azure_devops') return `${base}/${parts.join('/')}.git`;
  if (parts.length === 3) parts.splice(2, 0, '_git');
  return `${base}/${parts.join('/')}`;
}

/** A user without a password is not a secret and stays in the URL. */
function splitCredentials(given: string): { url: string; credentials: string | null } {
  const [, scheme = '', secret = '', rest = ''] =
    /^(https?:\/\/)([^/?#@]*:[^/?#]*)@(.*)$/i.exec(given) ?? [];
  if (!URL.canParse(scheme + rest)) return { url: given, credentials: null };
  try {
    return { url: scheme + rest, credentials: decodeURIComponent(secret) };
  } catch {
    return { url: scheme + rest, credentials: secret };
  }
}

/** A repository without user and password; the user of an ssh address stays. */
export function shownRepository(given: string): string {
  const match = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@(.*)$/is.exec(given);
  if (match === null) {
    // A password with a slash ends the host: git fails, but the password must not be shown.
    return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:(?!\d*(?:[/?#]|$)).*@/is.test(given)
      ? given.replace(/^([a-z0-9+.-]+:\/\/).*@/is, '$1')
      : given;
  }
  const [, scheme = '', who = '', rest = ''] = match;
  const user = who.replace(/:.*$/s, '');
  return /^(?:git\+)?ssh:/i.test(scheme) && user !== ''
    ? `${scheme}${user}@${rest}`
    : scheme + rest;
}

function pathOf({ url }: RepositorySource): string {
  return url.replace(/^file:\/\/(?:localhost)?/i, '');
}

/** The checkout on this disk, without links in its path; null: there is none. */
export function localFolder(source: RepositorySource): string | null {
  const folder = pathOf(source);
  return source.isLocal && existsSync(folder) ? realpathSync(folder) : null;
}

function folderName(given: string): string {
  const last = given
    .replace(/[/\\]+$/, '')
    .replace(/[/\\]\.git$/, '')
    .split(/[/\\:]/)
    .at(-1);
  const name = (last ?? '').replace(/\.git$/, '').replace(/[^A-Za-z0-9._-]+/g, '-');
  return /^\.*$/.test(name) ? 'repository' : name;
}

export function isBranchName(name: string): boolean {
  return (
    name !== '' &&
    !/^[-/.]|[/.]$|\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)|[\u0000-\u0020\u007f~^:?*[\\]/.test(name) &&
    name !== '@'
  );
}

interface CloneRequest {
  source: RepositorySource;
  branch: string | null;
  /** A commit that `source` has, on the one of `branch` or on none. */
  filesFrom: string | null;
  /** Which are copied; `movable`: those that do not name the path of the checkout. */
  dependencies: CopyRequest['which'] | false;
  workspaceDir: string;
  /** Folder of the service for unfinished clones, on the same file system as the workspaces. */
  stagingDir: string;
  env: Environment;
  signal: AbortSignal;
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface Cloned {
  folder: string;
  /** What the run starts from; null: the repository has no commit yet. */
  commit: string | null;
  branch: string | null;
  report: string | null;
}

/** Git does not hand a signal on to the helper that waits for a host: all of its group gets it. */
const AS_GROUP = `trap 'trap "" TERM; kill -TERM 0' TERM; "$@" & wait $!`;
const NOT_FOUND = 127;
/** Every git of a service, and what it starts, has this in its environment. */
const MARKER = 'ACS_STAGING';

/** Ends the clones of a killed service; returns the number of processes. */
export function endClones(stagingDir: string): number {
  return killProcesses({ below: null, marked: `${MARKER}=${stagingDir}`, except: [] }).length;
}

// Makes `$2` of the clone `$1`: a bare repository of the commit `$3`, else of HEAD, which no agent
// can write to. Its index has the times of the files, by which a diff skips the unchanged ones.
const KEEP_BASE = `${GIT_IN_SHELL}
git init --quiet --bare --object-format="$(git -C "$1" rev-parse --show-object-format)" "$2" || exit
git config -f "$2/config" core.autocrlf false || exit
commit=\${3:-$(git -C "$1" rev-parse --verify --quiet HEAD)}
[ -n "$commit" ] || exit 0
printf '%s\\n' "--shallow $commit" "$commit" |
  git -C "$1" pack-objects --quiet --window=0 --revs "$2/objects/pack/pack" >/dev/null || exit
echo "$commit" >"$2/shallow" && echo "$commit" >"$2/HEAD" && cp -p "$1/.git/index" "$2/index"`;

/** Clones into the workspace. Throws RepositoryError with git's message, without credentials. */
export async function cloneRepository(request: CloneRequest): Promise<Cloned> {
  const { source, filesFrom, dependencies, workspaceDir, stagingDir, signal } = request;
  const staging = path.join(stagingDir, randomBytes(8).toString('hex'));
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  try {
    const given = { ...gitEnvironment(request, staging), [MARKER]: stagingDir };
    const names = await run(git('-C', staging, 'config', '--list', '--name-only'), given, signal);
    const env = withoutPrograms(names, given);
    const target = path.join(staging, 'checkout');
    const branch = request.branch === null ? [] : ['--branch', request.branch];
    // --no-local: by a hard link the agent could write into the objects of the source. --progress:
    // git ends soon when its output is closed. --config: the agent's git converts nothing either.
    const flags =
      '--no-local --progress --config core.autocrlf=false --config core.symlinks=true'.split(' ');
    await run(git('clone', ...flags, ...branch, '--', source.url, target), env, signal);
    const inClone = (...argv: string[]) => run(git('-C', target, ...argv), env, signal);
    const commitAt = (name: string) =>
      inClone('rev-parse', '--verify', '--quiet', name).catch(() => null);
    if (filesFrom !== null) {
      if (!/^[0-9a-f]{40,64}$/.test(filesFrom))
        throw new RepositoryError('workspace_commit is not the id of a commit');
      await inClone('fetch', '-q', '--no-tags', source.url, filesFrom);
      await inClone('read-tree', '--reset', '-u', filesFrom);
    }
    const checkout = localFolder(source);
    const inFiles = { ...env, GIT_ALLOW_PROTOCOL: 'file', GIT_LITERAL_PATHSPECS: '1' };
    const empty =
      checkout === null
        ? []
        : await checkOutSubmodules(checkout, target, (folder, ...argv) =>
            run(git('-C', folder, ...argv), inFiles, signal).catch(() => null),
          );
    const commit = filesFrom ?? (await commitAt('HEAD'));
    const checkedOut = await inClone('symbolic-ref', '--short', '--quiet', 'HEAD').catch(
      () => null,
    );
    const base = path.join(staging, 'base');
    await run(['/bin/sh', '-c', KEEP_BASE, 'sh', target, base, filesFrom ?? ''], env, signal);
    if (filesFrom !== null) {
      const parent = await commitAt(`${filesFrom}^`);
      await inClone(...(parent === null ? ['read-tree', '--empty'] : ['reset', '-q', parent]));
    }
    let copied: Copied = { folders: [], entries: 0, bytes: 0, leftOut: [] };
    if (checkout !== null && dependencies !== false) {
      const folders = await run(listing(git('-C', checkout)), env, signal);
      const to = realpathSync(target);
      copied = await copyDependencies({ folders, from: checkout, to, which: dependencies, signal });
    }
    for (const gitDir of [path.join(target, '.git'), base]) excludeFolders(gitDir, copied.folders);
    copied.leftOut.push(...empty);
    const bases = basesOf(workspaceDir);
    mkdirSync(bases, { recursive: true, mode: 0o700 });
    let folder = source.name;
    const isUsed = (): boolean =>
      lstatSync(path.join(workspaceDir, folder), { throwIfNoEntry: false }) !== undefined ||
      existsSync(path.join(bases, `${folder}.git`));
    for (let number = 2; isUsed(); number++) folder = `${source.name}-${number}`;
    renameSync(base, path.join(bases, `${folder}.git`));
    renameSync(target, path.join(workspaceDir, folder));
    return { folder, commit, branch: checkedOut, report: reportOf(copied) };
  } finally {
    rmSync(staging, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Makes an empty repository of a fresh workspace, for diffs. Throws RepositoryError. */
export async function initWorkspace(
  workspaceDir: string,
  env: Environment,
  signal: AbortSignal,
): Promise<void> {
  if (existsSync(path.join(workspaceDir, '.git'))) return;
  await run(
    git('-c', 'init.defaultBranch=main', 'init', '--quiet', workspaceDir),
    baseEnvironment(env),
    signal,
  );
}

function baseEnvironment(env: Environment): Record<string, string> {
  // GIT_DIR and its like name another repository; variables with the user's credentials stay.
  const isKept = ([name, value]: [string, unknown]): boolean =>
    value !== undefined &&
    !/^(?:ACS|OPENHANDS)_/.test(name) &&
    (!/^GIT_/.test(name) ||
      /^GIT_(?:SSH|PROXY|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM)/.test(name));
  return {
    ...(Object.fromEntries(Object.entries(env).filter(isKept)) as Record<string, string>),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_ASKPASS: '',
    GIT_SSH_COMMAND: env.GIT_SSH_COMMAND ?? 'ssh -o BatchMode=yes',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    GIT_ATTR_NOSYSTEM: '1',
  };
}

/** Uses a file: git does not pass `-c` and GIT_CONFIG_COUNT on to the reader of the source. */
function gitEnvironment(
  { env: given, source }: CloneRequest,
  staging: string,
): Record<string, string> {
  const env = baseEnvironment(given);
  const quote = (value: string): string =>
    `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
  const home = env.HOME ?? '';
  const xdg = env.XDG_CONFIG_HOME || path.join(home, '.config');
  const ofHome =
    home === '' ? [] : [path.join(xdg, 'git', 'config'), path.join(home, '.gitconfig')];
  const configs = env.GIT_CONFIG_GLOBAL ? [env.GIT_CONFIG_GLOBAL] : ofHome;
  const lines = configs.map((config) => `[include]\n\tpath = ${quote(config)}`);
  if (source.isLocal) {
    // A repository may belong to another user: the request names exactly this one.
    const safe = [pathOf(source), localFolder(source) ?? ''].flatMap((each) => [
      each,
      path.join(each, '.git'),
    ]);
    lines.push(...safe.map((each) => `[safe]\n\tdirectory = ${quote(each)}`));
    // No branch has the commit of `filesFrom`.
    lines.push('[uploadpack]\n\tallowAnySHA1InWant = true');
  }
  if (source.login !== null) {
    const { origin, credentials } = source.login;
    const header = `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`;
    lines.push(`[http ${quote(`${origin}/`)}]\n\textraheader = ${quote(header)}`);
  }
  const file = path.join(staging, 'config');
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { ...env, GIT_CONFIG_GLOBAL: file };
}

function git(...argv: string[]): string[] {
  return ['git', ...GIT_DEFAULTS, ...argv];
}

const PROGRESS = new RegExp(
  '^(?:Cloning into|Receiving|Resolving|Updating files|Filtering content|remote: ' +
    '(?:Enumerating|Counting|Compressing|Total)|warning: redirecting)',
);

export function gitMessage(stderr: string): string {
  return cut(
    stderr
      .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]+@/gi, '$1***@')
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .filter((line) => line !== '' && !PROGRESS.test(line))
      .join('\n'),
    2000,
  );
}

/** What git writes, without spaces around it. Throws RepositoryError with the message of git. */
function run(argv: string[], env: Record<string, string>, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const { file, args } = withParentDeathSignal('TERM', [
      '/bin/sh',
      '-c',
      AS_GROUP,
      'sh',
      ...argv,
    ]);
    const child = spawn(file, args, {
      detached: true,
      env,
      signal,
      timeout: 15 * 60_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        output[name] = cut(output[name] + chunk.toString('utf8'), -20_000);
      });
    }
    const fail = (message: string) => reject(new RepositoryError(message));
    const end = (code: number | null): void => {
      if (code === 0) resolve(output.stdout.trimEnd());
      else if (code === NOT_FOUND) fail('git is not installed');
      else fail(gitMessage(output.stderr) || `git ended with exit code ${code ?? 'unknown'}`);
    };
    child.on('error', (error) => fail(`git could not be run: ${error.message}`));
    child.on('close', end);
    // A child of git, such as a shared ssh connection, may keep its output open for long.
    child.on('exit', (code) => setTimeout(end, 500, code).unref());
  });
}
