/**
 * Brings a repository into the workspace of a sandbox. Git runs outside the isolation, with the credentials of the user
 * and on nothing an agent has touched: it clones into a folder of the service, which is then moved into the workspace.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { killProcesses } from '../../isolation/processes.ts';
import { withParentDeathSignal } from '../../isolation/parent-death-signal.ts';
import type { RepositorySource } from './repository.ts';

export interface CloneRequest {
  source: RepositorySource;
  branch: string | null;
  workspaceDir: string;
  /** Folder of the service for unfinished clones, on the same file system as the workspaces. */
  stagingDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Credentials for the source's host. */
  token: string | null;
  signal: AbortSignal;
}

export interface Cloned {
  /** Name of the folder in the workspace. */
  folder: string;
  /** What the run starts from; null: the repository has no commit yet. */
  commit: string | null;
  /** The branch that is checked out; null: detached. */
  branch: string | null;
}

/** Git refused; the message is git's own, without credentials. */
export class CloneError extends Error {
  override readonly name = 'CloneError';
}

const CLONE_TIMEOUT_MS = 15 * 60_000;
/** Git has ended, but what it started, such as a shared ssh connection, may keep its output open for long. */
const OUTPUT_GRACE_MS = 500;
/** Git does not hand a signal on to the helper that waits for a host: all of its group gets it. */
const AS_GROUP = `trap 'trap "" TERM; kill -TERM 0' TERM; "$@" & wait $!`;
/** The exit code of a shell for a missing program. */
const NOT_FOUND = 127;
/** Every git of a service, and what it starts, has this in its environment. */
const MARKER = 'ACS_STAGING';

/** Ends the clones of a killed service; returns the number of processes. */
export function endClones(stagingDir: string): number {
  return killProcesses({ below: null, marked: `${MARKER}=${stagingDir}`, except: [] }).length;
}

/** Clones and moves the checkout into the workspace. Throws CloneError. */
export async function cloneRepository(request: CloneRequest): Promise<Cloned> {
  const staging = path.join(request.stagingDir, randomBytes(8).toString('hex'));
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  try {
    const env = { ...gitEnvironment(request, staging), [MARKER]: request.stagingDir };
    const target = path.join(staging, 'checkout');
    const branch = request.branch === null ? [] : ['--branch', request.branch];
    // --no-local: a hard link would let the agent write into the objects of the source.
    // --progress: writing it makes git notice soon that its output is closed.
    await git(['clone', '--no-local', '--progress', ...branch, '--', request.source.url, target], env, request.signal);
    const commit = await ask(['-C', target, 'rev-parse', '--verify', '--quiet', 'HEAD'], env, request.signal);
    const head = await ask(['-C', target, 'symbolic-ref', '--short', '--quiet', 'HEAD'], env, request.signal);
    return { folder: moveIn(target, request.workspaceDir, request.source.name), commit, branch: head };
  } finally {
    rmSync(staging, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Makes an empty repository of a fresh workspace, so that changes can be seen. Throws CloneError. */
export async function initWorkspace(
  workspaceDir: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<void> {
  if (existsSync(path.join(workspaceDir, '.git'))) return;
  await git(
    ['-c', 'init.defaultBranch=main', 'init', '--quiet', '--template=', workspaceDir],
    baseEnvironment(env),
    signal,
  );
}

/** The first free name; a second conversation on the same repository gets a checkout of its own. */
function moveIn(checkout: string, workspaceDir: string, name: string): string {
  for (let number = 1; ; number++) {
    const folder = number === 1 ? name : `${name}-${number}`;
    const target = path.join(workspaceDir, folder);
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(checkout, target);
    return folder;
  }
}

function baseEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    // GIT_DIR and its like would point git at another repository; those that carry the user's credentials stay.
    if (
      value === undefined ||
      (/^GIT_/.test(name) && !/^GIT_(?:SSH|PROXY|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM)/.test(name))
    ) {
      continue;
    }
    if (!/^(?:ACS|OPENHANDS)_/.test(name)) kept[name] = value;
  }
  return {
    ...kept,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_ASKPASS: '',
    GIT_SSH_COMMAND: kept.GIT_SSH_COMMAND ?? 'ssh -o BatchMode=yes',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  };
}

/**
 * The user's own configuration with a few lines more, for this call only. A file, because git takes `-c` and
 * GIT_CONFIG_COUNT away from the process that reads the source repository.
 */
function gitEnvironment(request: CloneRequest, staging: string): Record<string, string> {
  const env = baseEnvironment(request.env);
  const file = path.join(staging, 'config');
  const lines = [...userConfigs(env).map((config) => `[include]\n\tpath = ${quote(config)}`)];
  lines.push('[core]\n\thooksPath = /dev/null', '[protocol "ext"]\n\tallow = never');
  if (request.source.isLocal) {
    lines.push(...safeDirectories(request.source.url).map((folder) => `[safe]\n\tdirectory = ${quote(folder)}`));
  }
  const access = accessOf(request);
  if (access !== null) {
    const basic = Buffer.from(access.credentials).toString('base64');
    lines.push(`[http ${quote(access.origin)}]\n\textraheader = ${quote(`Authorization: Basic ${basic}`)}`);
  }
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { ...env, GIT_CONFIG_GLOBAL: file };
}

/** What the repository's own URL held comes before a token of its provider. */
function accessOf({ source, token }: CloneRequest): { credentials: string; origin: string } | null {
  if (source.credentials !== null) return { credentials: source.credentials, origin: `${new URL(source.url).origin}/` };
  if (token === null || source.origin === null) return null;
  return { credentials: `x-access-token:${token}`, origin: `${source.origin}/` };
}

/** What git would have read as the user's configuration. */
function userConfigs(env: Record<string, string>): string[] {
  if (env.GIT_CONFIG_GLOBAL) return [env.GIT_CONFIG_GLOBAL];
  if (!env.HOME) return [];
  const xdg = env.XDG_CONFIG_HOME || path.join(env.HOME, '.config');
  return [path.join(xdg, 'git', 'config'), path.join(env.HOME, '.gitconfig')];
}

/** A repository may belong to another user: the request names exactly this one. */
function safeDirectories(source: string): string[] {
  const folder = source.replace(/^file:\/\/(?:localhost)?/i, '');
  const found = new Set([folder, path.join(folder, '.git')]);
  try {
    const real = realpathSync(folder);
    found.add(real);
    found.add(path.join(real, '.git'));
  } catch {
    // git will say that it is not there
  }
  return [...found];
}

function quote(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

async function ask(argv: string[], env: Record<string, string>, signal: AbortSignal): Promise<string | null> {
  const { code, stdout } = await runGit(argv, env, signal);
  return code === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}

async function git(argv: string[], env: Record<string, string>, signal: AbortSignal): Promise<void> {
  const { code, stderr } = await runGit(argv, env, signal);
  if (code !== 0) throw new CloneError(gitMessage(stderr) || `git ended with exit code ${code ?? 'unknown'}`);
}

/** The output of git, without progress and without credentials. */
export function gitMessage(stderr: string): string {
  return withoutCredentials(stderr)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(
      (line) =>
        line !== '' &&
        !/^(?:Cloning into|Receiving|Resolving|Updating files|Filtering content|remote: (?:Enumerating|Counting|Compressing|Total)|warning: redirecting)/.test(
          line,
        ),
    )
    .join('\n')
    .slice(0, 2000);
}

/** User and password of a URL are taken out. */
export function withoutCredentials(words: string): string {
  return words.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]+@/gi, '$1***@');
}

interface GitEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

function runGit(argv: string[], env: Record<string, string>, signal: AbortSignal): Promise<GitEnd> {
  return new Promise((resolve, reject) => {
    const { file, args } = withParentDeathSignal('TERM', ['/bin/sh', '-c', AS_GROUP, 'sh', 'git', ...argv]);
    const child = spawn(file, args, {
      detached: true,
      env,
      signal,
      timeout: CLONE_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      output.stdout = (output.stdout + chunk.toString('utf8')).slice(-10_000);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.stderr = (output.stderr + chunk.toString('utf8')).slice(-20_000);
    });
    child.on('error', (error) => {
      reject(new CloneError(`git could not be run: ${error.message}`));
    });
    const end = (code: number | null): void => {
      if (code === NOT_FOUND) reject(new CloneError('git is not installed'));
      else resolve({ code, ...output });
    };
    child.on('close', end);
    child.on('exit', (code) => {
      setTimeout(end, OUTPUT_GRACE_MS, code).unref();
    });
  });
}
