/**
 * The isolation of a sandbox for its worker: starts the helper inside, sends requests to it, stops, continues and ends
 * all processes. In this folder: bubblewrap.ts (how it is isolated), inside.ts with inside/ (the helper), processes.ts
 * (the processes of a sandbox from outside).
 */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Writable } from 'node:stream';
import { withParentDeathSignal } from './parent-death-signal.ts';
import type { WorkerConfig } from '../sandboxes/worker-protocol.ts';
import { bubblewrapEnvironment, bubblewrapPlan, hiddenFolders } from './bubblewrap.ts';
import { IsolationConnection } from './connection.ts';
import { removeScratch } from './inside/scratch.ts';
import { bubblewrapCommand } from './namespace-limit.ts';
import {
  continueProcesses,
  killProcesses,
  realtimeLimitOf,
  reapLeftovers,
  SANDBOX_MARKER,
  type Selection,
  stopProcesses,
} from './processes.ts';

/** Time for the helper without isolation to exit by itself. */
const LEAVE_MS = 1000;

/** Pausing a sandbox: every process inside is stopped, and continued on resume. */
export interface Freezer {
  /** Returns the number of stopped processes. */
  freeze(): number;
  thaw(): void;
}

/** A started isolation. */
export interface StartedIsolation {
  connection: IsolationConnection;
  freezer: Freezer;
  /** Where the workspace is, as seen inside. */
  workingDir: string;
  /** Ends every process inside. */
  end: () => Promise<void>;
}

/**
 * Starts the isolation of a sandbox by its spec. Rejects when it cannot be started so; no spec takes the place of
 * another.
 */
export async function startIsolation(config: WorkerConfig): Promise<StartedIsolation> {
  if (config.spec === 'process') return startPlain(config);
  try {
    return await startBubblewrap(config);
  } catch (error) {
    throw new Error(`the sandbox cannot be isolated: ${(error as Error).message}`, { cause: error });
  }
}

async function startBubblewrap(config: WorkerConfig): Promise<StartedIsolation> {
  const hidden = hiddenFolders(config.events_dir, homedir());
  const { options, program } = bubblewrapPlan({
    workspaceDir: config.workspace_dir,
    dist: path.join(config.root, 'dist'),
    node: process.execPath,
    offline: config.spec === 'bubblewrap-offline',
    hidden,
  });
  // By a descriptor, because a command line is visible to all users, also inside.
  const { file, args } = bubblewrapCommand(['--args', '3', ...program], process.env['PATH']);
  const child = spawn(file, args, {
    cwd: '/',
    detached: true,
    env: { ...bubblewrapEnvironment(process.execPath, hidden), ...commonEnvironment(config) },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const connection = new IsolationConnection(child);
  const optionsPipe = child.stdio[3] as Writable;
  optionsPipe.on('error', () => undefined);
  optionsPipe.end(options.map((option) => `${option}\0`).join(''));
  const workingDir = await connection.ready();
  const pid = child.pid ?? -1;
  return {
    connection,
    freezer: namespaceFreezer(pid),
    workingDir,
    end: async () => {
      // After its end every process inside has ended, too, and its pid may belong to another process.
      if (connection.gone === null) killProcesses({ below: pid, marked: null, except: [] });
      child.kill('SIGKILL');
      await connection.ended;
    },
  };
}

/**
 * Sets the resource limit that marks the processes of the sandbox; without prlimit only their environment marks them.
 */
const MARKED = 'prlimit --pid $$ "--rttime=$0:" > /dev/null 2>&1; exec "$@"';

/**
 * The spec `process`: no isolation. Commands run as the user and can read all files of the user. Only the
 * environment is cleaned, so that no key of the service or of a command line is passed on by accident.
 */
async function startPlain(config: WorkerConfig): Promise<StartedIsolation> {
  reapLeftovers(config.sandbox_id);
  const helper = [process.execPath, path.join(config.root, 'dist', 'inside.js')];
  const marked = ['/bin/sh', '-c', MARKED, realtimeLimitOf(config.sandbox_id), ...helper];
  const { file, args } = withParentDeathSignal('CONT', marked); // a command may have stopped it
  const child = spawn(file, args, {
    cwd: config.workspace_dir,
    detached: true,
    env: { ...plainEnvironment(process.env, config.workspace_dir), ...commonEnvironment(config) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const connection = new IsolationConnection(child);
  const workingDir = await connection.ready();
  const pid = child.pid ?? -1;
  const mark = `${SANDBOX_MARKER}=${config.sandbox_id}`;
  return {
    connection,
    freezer: treeFreezer(pid, mark),
    workingDir,
    end: async () => {
      // The helper ends every process it started and removes its files; remaining processes are ended here.
      connection.close();
      await Promise.race([connection.ended, delay(LEAVE_MS, undefined, { ref: false })]);
      killProcesses({ below: pid, marked: mark, except: [] });
      child.kill('SIGKILL');
      await connection.ended;
      removeScratch(config.sandbox_id);
    },
  };
}

/** The environment of commands in every spec. */
function commonEnvironment(config: WorkerConfig): Record<string, string> {
  return {
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    PAGER: 'cat',
    TERM: 'dumb',
    ...config.initial_env,
    [SANDBOX_MARKER]: config.sandbox_id,
  };
}

const KEPT = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'TZ', 'USER'];

/** The environment of commands without isolation, out of the one of the service. */
function plainEnvironment(ambient: NodeJS.ProcessEnv, workspaceDir: string): Record<string, string> {
  const kept = KEPT.flatMap((name) => {
    const value = ambient[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...Object.fromEntries(kept),
    // A workspace without a repository is not part of one further up, e.g. of a home kept in git.
    GIT_CEILING_DIRECTORIES: path.dirname(workspaceDir),
    // git takes it only where no user.email is set.
    EMAIL: 'agent@localhost',
  };
}

/**
 * `bubblewrap`: everything below bwrap, `inside.ts` included; nothing can leave its process-id namespace, and the
 * kernel ends the namespace with the worker even while it is stopped.
 */
function namespaceFreezer(bwrapPid: number): Freezer {
  return freezer({ below: bwrapPid, marked: null, except: [] });
}

/**
 * `process`: everything below `inside.ts` or carrying the sandbox's mark, but not `inside.ts` itself: a stopped one
 * would not see that the worker is gone, and what it should end would stay behind.
 */
function treeFreezer(insidePid: number, mark: string): Freezer {
  return freezer({ below: insidePid, marked: mark, except: [insidePid] });
}

function freezer(selection: Selection): Freezer {
  return {
    freeze: () => stopProcesses(selection).length,
    thaw: () => {
      continueProcesses(selection);
    },
  };
}
