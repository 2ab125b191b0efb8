import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Its start time as the system reports it; null when unknown. */
  start: string | null;
}

export function selfIdentity(): ProcessIdentity {
  return { pid: process.pid, start: startOf(process.pid) };
}

export function nodeExecutable(): string {
  return process.execPath;
}

export function isAlive(identity: ProcessIdentity): boolean {
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const start = startOf(identity.pid);
  if (start === 'zombie') return false;
  return identity.start === null || start === null || start === identity.start;
}

/** Checks every 20 ms; null: the time is over. Throws the reason of the signal. */
export async function poll<Value>(
  check: () => Value | null,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Value | null> {
  for (let waitedMs = 0; ; waitedMs += 20) {
    const value = check();
    if (value !== null || waitedMs >= timeoutMs) return value;
    signal?.throwIfAborted();
    await setTimeout(20);
  }
}

/** A negative target is a process group. False when no such process exists. */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch {
    return false;
  }
}

/** When the process started; `zombie`: it has ended; null: unknown. */
export function startOf(pid: number): string | null {
  const fields = statFields(pid);
  if (fields === null) return process.platform === 'linux' ? null : askPs('lstart', pid);
  return fields[0] === 'Z' || fields[0] === 'X' ? 'zombie' : (fields[19] ?? null);
}

/** The fields of /proc/<pid>/stat from the state on (its parent is the next); null: none. */
export function statFields(pid: number): string[] | null {
  try {
    // The name before the state stands in parentheses and may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return (process.platform === 'linux' ? null : askPs('args', pid)) ?? '';
  }
}

function askPs(column: 'args' | 'lstart', pid: number): string | null {
  try {
    const args = ['-ww', '-o', `${column}=`, '-p', String(pid)];
    const answer = execFileSync('ps', args, { encoding: 'utf8', stdio: 'pipe' }).trim();
    return answer === '' ? null : answer;
  } catch {
    return null;
  }
}

/** Device and inode: the same after a move, others for a copy. Throws when there is none. */
export function folderIdentity(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true });
  return `${dev}-${ino}`;
}
