import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { isHeld, takeLock } from '../../base/lock.ts';
import { makeFolder } from '../../base/make-folder.ts';
import { ServiceError } from '../base/failure.ts';
import { ensureKey, readKey, refuseUnless } from './small-file.ts';

/** Everything in a data directory is the service's; it writes nothing outside of it. */
export function dataPaths(dataDir: string) {
  const at = (name: string): string => path.join(dataDir, name);
  return {
    database: at('service.db'),
    key: at('key'),
    lock: at('service.lock'),
    startLock: at('start.lock'),
    state: at('service.json'),
    /** The last port of the service: clients that follow reconnect to it. */
    port: at('port'),
    log: at('service.log'),
    /** Space that a start on a full disk frees: for lock, state and what a deletion writes. */
    reserve: at('service.reserve'),
    workspaces: at('workspaces'),
    /** `<sandbox>/<conversation>.db`: outlives the sandbox. */
    events: at('events'),
    staging: at('staging'),
    caches: at('caches'),
  };
}

export function defaultDataDir(
  env: Readonly<Record<string, string | undefined>>,
  platform: string,
  home: string,
): string {
  if (env.ACS_DATA_DIR) return path.resolve(env.ACS_DATA_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support', 'acs');
  // The XDG specification requires that a relative path is ignored.
  const dataHome = env.XDG_DATA_HOME;
  const base =
    dataHome && path.isAbsolute(dataHome) ? dataHome : path.join(home, '.local', 'share');
  return path.join(base, 'acs');
}

/** Creates the data directory, readable by its owner alone. Throws ServiceError `data-dir`. */
export function prepareDataDir(dataDir: string): void {
  inDataDir(dataDir, () => {
    makeOwnFolder(dataDir);
    restrict(dataDir, 0o700);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    const { workspaces, events, staging, caches, ...files } = dataPaths(dataDir);
    for (const folder of [workspaces, events, staging, caches]) {
      refuseUnless('directory', folder);
      restrict(folder, 0o700);
    }
    for (const file of Object.values(files)) {
      refuseUnless('file', file);
      restrict(file, 0o600);
    }
    keepReserve(files.reserve);
  });
}

/** Throws ServiceError `locked` while another service owns the directory; `data-dir`. */
export function lockDataDir(dataDir: string): { key: string; release: () => void } {
  return inDataDir(dataDir, () => {
    const { lock, key } = dataPaths(dataDir);
    refuseUnless('file', lock);
    const taken = takeLock(lock);
    if (!isHeld(taken)) {
      const message = `another local service (pid ${taken.pid}) is using ${dataDir}`;
      throw new ServiceError('locked', message, {
        hint:
          'Use that one, stop it with `acs serve --stop`, or set ACS_DATA_DIR to another ' +
          'folder.',
      });
    }
    try {
      return { key: ensureKey(key), release: taken.release };
    } catch (error) {
      taken.release();
      throw error;
    }
  });
}

/** A copy or a backup may have a wider mode; only the owner can change that. */
function restrict(name: string, mode: number): void {
  if (((statSync(name, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0) chmodSync(name, mode);
}

function makeOwnFolder(dataDir: string): void {
  makeFolder(dataDir, 0o700);
  if (!statSync(dataDir).isDirectory()) throw new Error('it is not a directory');
  refuseForeign(dataDir);
}

/** Writes a file and removes it, with the folders made. Throws ServiceError `data-dir`. */
export function tryDataDir(dataDir: string): void {
  const made: string[] = [];
  for (let folder = dataDir; !existsSync(folder); folder = path.dirname(folder)) made.push(folder);
  const file = `${dataPaths(dataDir).reserve}.${randomBytes(8).toString('hex')}`;
  try {
    inDataDir(dataDir, () => {
      makeOwnFolder(dataDir);
      writeFileSync(file, randomBytes(64 * 1024), { mode: 0o600, flush: true });
    });
  } finally {
    try {
      rmSync(file, { force: true });
      for (const folder of made) rmdirSync(folder);
    } catch {
      // A folder that was not made, or that a service has begun to use.
    }
  }
}

const RESERVE_BYTES = 4 * 1024 * 1024;

/** Removes the reserve on a full disk; writes it again where there is space. */
function keepReserve(file: string): void {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  if (bavail * bsize < RESERVE_BYTES / 2) rmSync(file, { force: true });
  else if (bavail * bsize > 4 * RESERVE_BYTES && !existsSync(file)) {
    try {
      // Random, because a file system may compress.
      writeFileSync(file, randomBytes(RESERVE_BYTES), { mode: 0o600 });
    } catch {
      rmSync(file, { force: true }); // a quota
    }
  }
}

/** What a first start that was cut off may leave, and what a new volume holds. */
const BEFORE_THE_DATABASE =
  /^(?:service\.lock|start\.lock|service\.log|service\.reserve)(?:\.|$)|^key\.|^lost\+found$/;

/** Restricting the folder to its owner would harm another user of it. */
function refuseForeign(dataDir: string): void {
  const { database, key } = dataPaths(dataDir);
  const names = readdirSync(dataDir);
  if (names.includes(path.basename(database))) return;
  const hasKey = readKey(key) !== null;
  if (hasKey) refuseNewStore(dataDir);
  const others = names.filter(
    (name) => !BEFORE_THE_DATABASE.test(name) && !(hasKey && name === path.basename(key)),
  );
  if (others.length === 0) return;
  const named = `${others.slice(0, 3).join(', ')}${others.length > 3 ? ', …' : ''}`;
  const hint = 'set ACS_DATA_DIR to a folder that is empty or does not exist';
  throw refusal(dataDir, `it has files that are not of acs (${named})`, hint);
}

/** Throws ServiceError `data-dir` for a new store beside existing logs of conversations. */
export function refuseNewStore(dataDir: string): void {
  const { database, events } = dataPaths(dataDir);
  const folders = existsSync(events) ? readdirSync(events).length : 0;
  if (folders === 0) return;
  throw new ServiceError(
    'data-dir',
    `${database} is empty or missing, and ${events} has logs (folders: ${folders})`,
    {
      hint:
        `Restore ${database}, and ${database}-wal if there was one, from the original ` +
        `directory or a backup. To start without them, move ${dataDir} away. Its workspaces ` +
        'and logs are unchanged.',
    },
  );
}

/** Throws ServiceError `data-dir` for an error of the system. */
export function inDataDir<Result>(dataDir: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw dataDirError(dataDir, error);
  }
}

const REASONS: [RegExp, string][] = [
  [/ENOENT/, 'it cannot be created'],
  [/EROFS/, 'the file system is read-only'],
  [/EACCES|EPERM/, 'permission denied'],
  [/ENOSPC|SQLITE_FULL|disk is full/, 'the disk is full'],
  [/EDQUOT/, 'the disk quota is used up'],
  [/ENOTDIR|EEXIST/, 'a part of the path is not a directory'],
];

export function dataDirError(dataDir: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const text = `${code} ${message}`;
  if (/not a database|malformed|SQLITE_NOTADB|SQLITE_CORRUPT/i.test(text)) {
    return new ServiceError('data-dir', `${dataPaths(dataDir).database} is damaged: ${message}`, {
      hint: `Move ${dataDir} away and start again; what is damaged in it has not been overwritten.`,
      cause: error,
    });
  }
  const why = REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? message;
  const isFull = why.startsWith('the disk ');
  const hint =
    `${isFull ? 'free space in it, or ' : ''}set ACS_DATA_DIR to a folder that ` + `you can write`;
  return refusal(dataDir, why, hint, error);
}

function refusal(dataDir: string, why: string, hint: string, cause?: unknown): ServiceError {
  return new ServiceError('data-dir', `cannot use the data directory ${dataDir}: ${why}`, {
    hint,
    cause,
  });
}
