/**
 * Locks that a crash cannot leave behind: a file that names its owner's pid and start time. A file whose owner is gone
 * is stale and is taken over.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, type ProcessIdentity } from './process.ts';
import { readSmallFile, readSmallRecord, refuseUnlessFile } from './small-file.ts';

/** A lock that is held. */
export interface HeldLock {
  release(): void;
}

/**
 * Takes the lock, or names the living process that holds it.
 * @param file path of the lock
 * @param self who takes it
 * @throws ServiceError `data-dir` when something else has the name; the error of the file system when the folder
 *   cannot be written
 */
export function takeLock(file: string, self: ProcessIdentity): HeldLock | ProcessIdentity {
  const mine = `${file}.${self.pid}.${randomBytes(6).toString('hex')}`;
  const text = JSON.stringify({ pid: self.pid, start: self.start });
  try {
    writeFileSync(mine, text, { mode: 0o600, flush: true });
    for (let attempt = 0; attempt < 20; attempt++) {
      if (link(mine, file)) return { release: () => releaseLock(file, text) };
      refuseUnlessFile(file);
      const holder = readHolder(file);
      if (holder !== null && isAlive(holder)) return holder;
      clearStale(file, holder);
    }
    throw new Error(`the lock ${file} changes all the time`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Whether the lock was taken. */
export function isHeld(result: HeldLock | ProcessIdentity): result is HeldLock {
  return 'release' in result;
}

/** Who holds the lock; null when there is none or it cannot be read. */
export function readHolder(file: string): ProcessIdentity | null {
  const { pid, start } = readSmallRecord(file) ?? {};
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null;
  return { pid, start: typeof start === 'string' ? start : null };
}

/** A hard link appears with its content at once, so that no process reads an empty lock. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a stale lock away; puts it back when another process has replaced it in between. */
function clearStale(file: string, seen: ProcessIdentity | null): void {
  const aside = `${file}.stale.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // another process has removed it
  }
  const moved = readHolder(aside);
  const isTheSame = moved?.pid === seen?.pid && moved?.start === seen?.start;
  if (!isTheSame && moved !== null && isAlive(moved)) link(aside, file);
  rmSync(aside, { force: true });
}

function releaseLock(file: string, text: string): void {
  if (readSmallFile(file) === text) rmSync(file, { force: true });
}
