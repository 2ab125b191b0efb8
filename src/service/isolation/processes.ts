/**
 * By ancestors or a mark in the environment: any process inside may start its own group or session.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { folderIdentity } from '../../base/process.ts';

/**
 * In the environment of every process of a sandbox: one that left the process tree is still found.
 */
export const SANDBOX_MARKER = 'ACS_SANDBOX_ID';
/** The same for one command. */
export const COMMAND_MARKER = 'ACS_COMMAND_ID';

/** Process states in /proc and ps: zombie and dead; stopped and traced. */
const ENDED = new Set(['Z', 'X']);
const STANDING = new Set(['T', 't']);
const STOP_ROUNDS = 500;
/**
 * The flag of a thread of the kernel (`PF_KTHREAD`): it has no environment and is not part of a
 * sandbox.
 */
const KERNEL_THREAD = 0x00200000;

interface ProcessEntry {
  pid: number;
  parent: number;
  state: string;
}

/**
 * Which processes are meant. `below`: descendants of this one; `marked`: `NAME=value` in the
 * environment as well.
 */
export interface Selection {
  below: number | null;
  marked: string | null;
  except: readonly number[];
}

/** The living processes of a selection; zombies are not among them. */
export function selectProcesses(selection: Selection): number[] {
  return select(selection).map(({ pid }) => pid);
}

function select(selection: Selection): ProcessEntry[] {
  const entries = listProcesses();
  const wanted = new Set<number>();
  if (selection.below !== null) addDescendants(entries, selection.below, wanted);
  if (selection.marked !== null) {
    const { marked } = selection;
    const [name, mark = ''] = marked.split('=');
    const limit = name === SANDBOX_MARKER ? realtimeLimitOf(mark) : null;
    for (const entry of entries) {
      if (
        !wanted.has(entry.pid) &&
        (hasMark(entry.pid, marked) || (limit !== null && hasLimit(entry.pid, limit)))
      ) {
        wanted.add(entry.pid);
        addDescendants(entries, entry.pid, wanted);
      }
    }
  }
  return entries.filter(
    ({ pid, state }) =>
      wanted.has(pid) &&
      !ENDED.has(state) &&
      pid !== process.pid &&
      !selection.except.includes(pid),
  );
}

/**
 * Repeats the search until all are stopped: before a signal takes effect, a process may start
 * another.
 */
export function stopProcesses(selection: Selection): number[] {
  const stopped = new Set<number>();
  for (let patience = STOP_ROUNDS; ; patience -= 1) {
    const found = select(selection);
    const fresh = found.filter(({ pid }) => !stopped.has(pid));
    for (const { pid } of fresh) {
      signal(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    const isStill = fresh.length === 0 && found.every(({ state }) => STANDING.has(state));
    if (isStill || (fresh.length === 0 && patience <= 0)) return [...stopped];
    // Synchronous for 1 ms, so that the event loop does not run in between.
    if (fresh.length === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

export function continueProcesses(selection: Selection): void {
  for (const pid of selectProcesses(selection)) signal(pid, 'SIGCONT');
}

/**
 * Ends every process of a selection. They are stopped first, so that none can start another while
 * it is searched.
 */
export function killProcesses(selection: Selection): number[] {
  const stopped = stopProcesses(selection);
  for (const pid of stopped) signal(pid, 'SIGKILL');
  return stopped;
}

/**
 * Ends the processes that an earlier worker of the sandbox with this mark has left; returns their
 * number.
 */
export function reapLeftovers(mark: string): number {
  return killProcesses({ below: null, marked: `${SANDBOX_MARKER}=${mark}`, except: [] }).length;
}

/**
 * A copy of the data directory has the same sandbox ids. `workspaceDir`: `<data
 * directory>/workspaces/<sandbox>`.
 */
export function sandboxMark(sandboxId: string, workspaceDir: string): string {
  return `${sandboxId}-${folderIdentity(path.resolve(workspaceDir, '..', '..'))}`;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself.
  }
}

function addDescendants(entries: ProcessEntry[], root: number, found: Set<number>): void {
  const below = new Set([root]);
  for (const above of below) {
    for (const { pid, parent } of entries) if (parent === above) below.add(pid);
  }
  below.delete(root);
  for (const pid of below) found.add(pid);
}

function listProcesses(): ProcessEntry[] {
  let names: string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return listWithPs();
  }
  return names.length === 0 ? listWithPs() : names.flatMap(readStat);
}

function readStat(name: string): ProcessEntry[] {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
    // The second field is the program's name in brackets and may itself hold spaces and brackets.
    const [state = '', parent = '0', , , , , flags = '0'] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ');
    if ((Number(flags) & KERNEL_THREAD) !== 0) return [];
    return [{ pid: Number(name), parent: Number(parent), state }];
  } catch {
    return [];
  }
}

/** For systems without /proc: macOS and the BSDs. */
function listWithPs(): ProcessEntry[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/);
    return pid && parent
      ? [{ pid: Number(pid), parent: Number(parent), state: state.charAt(0) }]
      : [];
  });
}

/**
 * Microseconds, more than a century. Unlike the environment it is inherited through `env -i`,
 * `sudo` and daemons.
 */
export function realtimeLimitOf(mark: string): string {
  const own = createHash('sha256').update(mark).digest().readUIntBE(0, 6);
  return String(2 ** 52 + own);
}

function hasLimit(pid: number, limit: string): boolean {
  try {
    return new RegExp(`^Max realtime timeout +${limit} `, 'm').test(
      readFileSync(`/proc/${String(pid)}/limits`, 'latin1'),
    );
  } catch {
    return false;
  }
}

function hasMark(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${String(pid)}/environ`, 'latin1')}`.includes(`\0${mark}\0`);
  } catch {
    return false;
  }
}
