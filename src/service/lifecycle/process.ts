/** Processes of the system: the only file of `lifecycle/` that uses `process`. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Its start time as the system reports it; null when unknown. */
  start: string | null;
}

/** This process. */
export function selfIdentity(): ProcessIdentity {
  return { pid: process.pid, start: startOf(process.pid) };
}

/** The node that runs this. */
export function nodeExecutable(): string {
  return process.execPath;
}

/** Whether this process still runs. */
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

/** Waits synchronously until a killed process has ended, at most so long. */
export function awaitEnd(identity: ProcessIdentity, timeoutMs: number): void {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const pauseMs = 5;
  for (let waitedMs = 0; waitedMs < timeoutMs && isAlive(identity); waitedMs += pauseMs) {
    Atomics.wait(nap, 0, 0, pauseMs);
  }
}

/** Sends a signal to a process, or to its group when `target` is negative. False when no such process exists. */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch {
    return false;
  }
}

/** When the process started; `zombie` when it has ended and only its number is left; null when unknown. */
export function startOf(pid: number): string | null {
  try {
    // The name in parentheses may hold anything, so the fields are counted from the last parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return 'zombie';
    return fields[19] ?? null;
  } catch {
    return process.platform === 'linux' ? null : startByPs(pid);
  }
}

function startByPs(pid: number): string | null {
  try {
    const answer = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
    return answer === '' ? null : answer;
  } catch {
    return null;
  }
}
