import { spawn, type StdioOptions } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Writable } from 'node:stream';
import { withParentDeathSignal } from './parent-death-signal.ts';
import { basesOf, type WorkerConfig } from '../base/worker-protocol.ts';
import {
  BASES_INSIDE,
  bubblewrapEnvironment,
  bubblewrapPlan,
  hiddenFolders,
  HOME_INSIDE,
  SCRATCH_INSIDE,
} from './bubblewrap.ts';
import { IsolationConnection } from './connection.ts';
import { limitCommand } from './limits.ts';
import { bubblewrapCommand } from './namespace-limit.ts';
import {
  continueProcesses,
  killProcesses,
  realtimeLimitOf,
  reapLeftovers,
  SANDBOX_MARKER,
  sandboxMark,
  type Selection,
  stopProcesses,
} from './processes.ts';
import { seccompFilter } from './seccomp.ts';
import { plainVariables, userTools } from './tools.ts';

export interface StartedIsolation {
  connection: IsolationConnection;
  workingDir: string;
  scratch: string;
  home: string;
  bases: string;
  freeze: () => void;
  thaw: () => void;
  end: () => Promise<void>;
}

/** Rejects when the spec of the sandbox cannot be started; no spec takes the place of another. */
export async function startIsolation(config: WorkerConfig): Promise<StartedIsolation> {
  if (config.spec === 'process') return startPlain(config);
  try {
    return await startBubblewrap(config);
  } catch (error) {
    throw new Error(`the sandbox cannot be isolated: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function startBubblewrap(config: WorkerConfig): Promise<StartedIsolation> {
  const { PATH } = process.env;
  const { limits, mounts } = config;
  const dataDir = path.dirname(path.dirname(config.events_dir));
  const offline = config.spec === 'bubblewrap-offline';
  const hidden = hiddenFolders(dataDir, homedir());
  const tools = userTools(process.env, hidden, homedir());
  const { options, program } = bubblewrapPlan({
    workspaceDir: config.workspace_dir,
    mounts,
    tools,
    dist: path.join(config.root, 'dist'),
    node: process.execPath,
    offline,
    hidden,
    temporary: limits.temporary,
  });
  // A command line is visible to all users, also inside.
  const pipes = [options.map((option) => `${option}\0`).join(''), seccompFilter(process.arch)];
  const given = ['--args', '3', '--seccomp', '4', ...program];
  const { file, args } = bubblewrapCommand(given, PATH, limitCommand(limits, PATH));
  const child = spawn(file, args, {
    cwd: '/',
    detached: true,
    env: {
      ...bubblewrapEnvironment(process.execPath, hidden, tools, offline),
      ...commonEnvironment(config),
    },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const connection = new IsolationConnection(child);
  for (const [index, data] of pipes.entries()) {
    const pipe = child.stdio[3 + index] as Writable;
    pipe.on('error', () => undefined);
    pipe.end(data);
  }
  const started = await connection.ready;
  const pid = child.pid ?? -1;
  return {
    connection,
    ...started,
    scratch: SCRATCH_INSIDE,
    home: HOME_INSIDE,
    bases: BASES_INSIDE,
    // No process can leave the process-id namespace of bwrap.
    ...freezer({ below: pid, marked: null, except: [] }),
    end: async () => {
      // The kernel ends every process inside with it, a fork bomb included.
      child.kill('SIGKILL');
      await connection.ended;
    },
  };
}

/** Sets the resource limit that marks processes. Without prlimit their environment does. */
const MARKED = 'prlimit --pid $$ "--rttime=$0:" > /dev/null 2>&1; exec "$@"';

/** No isolation: commands run as the user. The environment is cleaned, because it may hold keys. */
async function startPlain(config: WorkerConfig): Promise<StartedIsolation> {
  const mark = sandboxMark(config.sandbox_id, config.workspace_dir);
  reapLeftovers(mark);
  // A paused sandbox keeps its own while another isolation reads the workspace.
  const scratch = path.join(config.events_dir, `scratch-${config.sandbox_id}`);
  const removeScratch = (): void => {
    rmSync(scratch, { recursive: true, force: true });
  };
  removeScratch();
  try {
    mkdirSync(scratch, { mode: 0o700 });
  } catch {
    // On a full disk only what needs the folder fails.
  }
  // The kernel would count all processes of the user.
  const limits = { ...config.limits, processes: null };
  const limited = limitCommand(limits, process.env['PATH']);
  const helper = [
    ...limited,
    process.execPath,
    path.join(config.root, 'dist', 'inside.js'),
    scratch,
  ];
  const command = ['/bin/sh', '-c', MARKED, realtimeLimitOf(mark), ...helper];
  const { file, args } = withParentDeathSignal('CONT', command);
  const env = { ...plainEnvironment(config.workspace_dir), ...commonEnvironment(config) };
  const stdio: StdioOptions = ['pipe', 'pipe', 'pipe'];
  const child = spawn(file, args, { cwd: config.workspace_dir, detached: true, env, stdio });
  const connection = new IsolationConnection(child);
  const started = await connection.ready;
  const pid = child.pid ?? -1;
  const marked = `${SANDBOX_MARKER}=${mark}`;
  return {
    connection,
    ...started,
    scratch,
    home: process.env['HOME'] ?? '/',
    bases: basesOf(config.workspace_dir),
    // A stopped helper would not see that the worker is gone.
    ...freezer({ below: pid, marked, except: [pid] }),
    end: async () => {
      connection.close();
      await Promise.race([connection.ended, delay(1_000, undefined, { ref: false })]);
      killProcesses({ below: pid, marked, except: [] });
      child.kill('SIGKILL');
      await connection.ended;
      removeScratch();
    },
  };
}

function commonEnvironment(config: WorkerConfig): Record<string, string> {
  return {
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    PAGER: 'cat',
    TERM: 'dumb',
    ...config.initial_env,
    [SANDBOX_MARKER]: sandboxMark(config.sandbox_id, config.workspace_dir),
  };
}

const KEPT = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TMPDIR',
  'TZ',
  'USER',
];

function plainEnvironment(workspaceDir: string): Record<string, string | undefined> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.includes(name))),
    ...plainVariables(process.env),
    // A workspace without a repository is not part of one further up, e.g. of a home kept in git.
    GIT_CEILING_DIRECTORIES: path.dirname(workspaceDir),
    // git takes it only where no user.email is set.
    EMAIL: 'agent@localhost',
  };
}

function freezer(selection: Selection): Pick<StartedIsolation, 'freeze' | 'thaw'> {
  return {
    freeze: () => void stopProcesses(selection),
    thaw: () => continueProcesses(selection),
  };
}
