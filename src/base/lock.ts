/** A lock is stale when its owner is gone, or when it was copied with its folder. */
import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { folderIdentity, isAlive, selfIdentity, type ProcessIdentity } from './process.ts';
import { readSmallFile, readSmallRecord } from './small-file.ts';

export interface HeldLock {
  release(): void;
}

export function takeLock(file: string): HeldLock | ProcessIdentity {
  const text = JSON.stringify({ ...selfIdentity(), folder: folderIdentity(path.dirname(file)) });
  const mine = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(mine, text, { mode: 0o600, flush: true });
    for (let attempt = 0; attempt < 20; attempt++) {
      if (link(mine, file))
        return {
          release: () => {
            if (readSmallFile(file) === text) rmSync(file, { force: true });
          },
        };
      if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
        throw new Error(`${file} is not a file`);
      const holder = readHolder(file);
      if (holder !== null && isAlive(holder)) return holder;
      clearStale(file, holder);
    }
    throw new Error(`the lock ${file} changes all the time`);
  } finally {
    rmSync(mine, { force: true });
  }
}

export function isHeld(result: HeldLock | ProcessIdentity): result is HeldLock {
  return 'release' in result;
}

/** A lock without a start time has no owner: the pid may be of any process. */
export function liveOwner(lock: string): ProcessIdentity | null {
  const holder = readHolder(lock);
  if (holder === null || (holder.start === null && selfIdentity().start !== null)) return null;
  return isAlive(holder) ? holder : null;
}

function readHolder(file: string): ProcessIdentity | null {
  const { pid, start, folder } = readSmallRecord(file) ?? {};
  // Earlier versions wrote no folder.
  if (folder !== undefined && folder !== folderIdentity(path.dirname(file))) return null;
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
function clearStale(file: string, stale: ProcessIdentity | null): void {
  const movedTo = `${file}.stale.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(file, movedTo);
  } catch {
    return; // another process has removed it
  }
  const moved = readHolder(movedTo);
  const isTheSame = moved?.pid === stale?.pid && moved?.start === stale?.start;
  if (!isTheSame && moved !== null && isAlive(moved)) link(movedTo, file);
  rmSync(movedTo, { force: true });
}
