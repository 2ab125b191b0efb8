import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { folderIdentity, sendSignal } from '../../base/process.ts';

/** In the environment of a sandbox: finds processes that have left the tree of the worker. */
export const SANDBOX_MARKER = 'ACS_SANDBOX_ID';
export const COMMAND_MARKER = 'ACS_COMMAND_ID';

const ENDED = new Set(['Z', 'X']);
const STANDING = new Set(['T', 't']);
const STOP_ROUNDS = 500;
/** `PF_KTHREAD`: a thread of the kernel has no environment and is in no sandbox. */
const KERNEL_THREAD = 0x00200000;

interface ProcessEntry {
  pid: number;
  parent: number;
  state: string;
}

/** `below`: its descendants; `marked`: also processes with such a `NAME=value`, and theirs. */
export interface Selection {
  below: number | null;
  marked: string | readonly string[] | null;
  except: readonly number[];
}

export function selectProcesses(selection: Selection): number[] {
  return select(selection).map(({ pid }) => pid);
}

function select({ below, marked, except }: Selection): ProcessEntry[] {
  const entries = listProcesses();
  const selected = new Set<number>();
  if (below !== null) addDescendants(entries, below, selected);
  if (marked !== null) {
    const isMarked = markTest([marked].flat());
    for (const { pid } of entries) {
      if (selected.has(pid) || !isMarked(pid)) continue;
      selected.add(pid);
      addDescendants(entries, pid, selected);
    }
  }
  const spared = [process.pid, ...except];
  return entries.filter(
    ({ pid, state }) => selected.has(pid) && !ENDED.has(state) && !spared.includes(pid),
  );
}

/** A process keeps the limit of its sandbox where it has not kept the environment. */
function markTest(marks: readonly string[]): (pid: number) => boolean {
  const limits = marks.flatMap((mark) => {
    const [name, value = ''] = mark.split('=');
    return name === SANDBOX_MARKER ? [realtimeLimitOf(value)] : [];
  });
  return (pid) => {
    const variables = readOf(pid, 'environ').split('\0');
    if (marks.some((mark) => variables.includes(mark))) return true;
    if (limits.length === 0) return false;
    const [, limit = ''] = /^Max realtime timeout +(\d+) /m.exec(readOf(pid, 'limits')) ?? [];
    return limits.includes(limit);
  };
}

/** Empty: the process has ended, or belongs to another user. */
function readOf(pid: number, file: 'environ' | 'limits'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Searches until all are stopped in two rounds: a process may start another before the signal takes
 * effect, which may be after the names in /proc were read and before the state of its parent is.
 */
export function stopProcesses(selection: Selection): number[] {
  const stopped = new Set<number>();
  let wasStill = false;
  for (let patience = STOP_ROUNDS; ; patience -= 1) {
    const selected = select(selection);
    const fresh = selected.filter(({ pid }) => !stopped.has(pid));
    for (const { pid } of fresh) {
      sendSignal(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    const isStill = fresh.length === 0 && selected.every(({ state }) => STANDING.has(state));
    if ((isStill && wasStill) || (fresh.length === 0 && patience <= 0)) return [...stopped];
    wasStill = isStill;
    // The event loop must not run during this wait of 1 ms.
    if (fresh.length === 0 && !isStill)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

export function continueProcesses(selection: Selection): void {
  for (const pid of selectProcesses(selection)) sendSignal(pid, 'SIGCONT');
}

/** Stops the processes first, so that none can start another, and ends them. */
export function killProcesses(selection: Selection): number[] {
  const stopped = stopProcesses(selection);
  for (const pid of stopped) sendSignal(pid, 'SIGKILL');
  return stopped;
}

/** Ends what earlier workers of the sandboxes with these marks have left; returns the number. */
export function reapLeftovers(...marks: string[]): number {
  const marked = marks.map((mark) => `${SANDBOX_MARKER}=${mark}`);
  return killProcesses({ below: null, marked, except: [] }).length;
}

/** Distinguishes a copied data directory. `workspaceDir`: `<data directory>/workspaces/<id>`. */
export function sandboxMark(sandboxId: string, workspaceDir: string): string {
  return `${sandboxId}-${folderIdentity(path.resolve(workspaceDir, '..', '..'))}`;
}

function addDescendants(entries: ProcessEntry[], root: number, selected: Set<number>): void {
  const tree = new Set([root]);
  for (const above of tree) {
    for (const { pid, parent } of entries) if (parent === above) tree.add(pid);
  }
  tree.delete(root);
  for (const pid of tree) selected.add(pid);
}

function listProcesses(): ProcessEntry[] {
  if (!existsSync('/proc/self/stat')) return listWithPs();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readStat);
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

/** Microseconds, over a century. The limit is inherited through `env -i`, `sudo` and daemons. */
export function realtimeLimitOf(mark: string): string {
  const own = createHash('sha256').update(mark).digest().readUIntBE(0, 6);
  return String(2 ** 52 + own);
}
