import { accessSync, chmodSync, constants, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { ServiceError } from './failure.ts';
import { readKey } from './key.ts';
import { dataPaths } from './paths.ts';
import { refuseUnlessFile, refuseUnlessFolder } from './small-file.ts';

/**
 * Where the local service keeps its data by default: `$ACS_DATA_DIR`; on macOS
 * `~/Library/Application Support/acs`; elsewhere `$XDG_DATA_HOME/acs` or `~/.local/share/acs`.
 * @param env the environment; empty values count as absent
 * @param platform as `process.platform`
 * @param home the user's home directory
 */
export function defaultDataDir(
  env: Readonly<Record<string, string | undefined>>,
  platform: string,
  home: string,
): string {
  if (env.ACS_DATA_DIR) return path.resolve(env.ACS_DATA_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support', 'acs');
  // The XDG specification requires that a relative path is ignored.
  const dataHome = env.XDG_DATA_HOME;
  const base = dataHome && path.isAbsolute(dataHome) ? dataHome : path.join(home, '.local', 'share');
  return path.join(base, 'acs');
}

/**
 * Creates the data directory, readable by its owner alone, and makes sure that it can be written.
 * @throws ServiceError `data-dir`
 */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir, 0o700);
    if (!statSync(dataDir).isDirectory()) throw new Error('it is not a directory');
    refuseForeign(dataDir);
    // An existing directory may have been made with a wider mode; only its owner can change that.
    if ((statSync(dataDir).mode & 0o077) !== 0) chmodSync(dataDir, 0o700);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    refuseWhatIsInTheWay(dataDir);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw refusal(dataDir, reasonAt(dataDir, error), 'Set ACS_DATA_DIR to a folder that you can write.', error);
  }
}

function refuseWhatIsInTheWay(dataDir: string): void {
  const { workspaces, events, staging, ...files } = dataPaths(dataDir);
  for (const folder of [workspaces, events, staging]) refuseUnlessFolder(folder);
  for (const file of Object.values(files)) refuseUnlessFile(file);
}

const DAMAGED = /not a database|malformed|SQLITE_NOTADB|SQLITE_CORRUPT/i;

/** What may be there before the database is, whenever a first start was cut off; a new volume is not quite empty. */
const BEFORE_THE_DATABASE = /^(?:service\.lock|start\.lock|service\.log)(?:\.|$)|^key\.|^lost\+found$/;

/** Restricting a folder to its owner and deleting unknown files in it would harm another user of the folder. */
function refuseForeign(dataDir: string): void {
  const { database, key } = dataPaths(dataDir);
  const names = readdirSync(dataDir);
  if (names.includes(path.basename(database))) return;
  const isOurs = (name: string) =>
    BEFORE_THE_DATABASE.test(name) || (name === path.basename(key) && readKey(key) !== null);
  const others = names.filter((name) => !isOurs(name));
  if (others.length === 0) return;
  const named = `${others.slice(0, 3).join(', ')}${others.length > 3 ? ', …' : ''}`;
  const hint = 'Set ACS_DATA_DIR to a folder that is empty or not there yet.';
  throw refusal(dataDir, `there are files in it that are not of acs (${named})`, hint);
}

/**
 * Runs what needs the data directory; a refusal of the system becomes a text that names the directory.
 * @throws ServiceError `data-dir`
 */
export function inDataDir<Result>(dataDir: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const hint = DAMAGED.test(words(error))
      ? `Move ${dataDir} away and start again; what is damaged in it has not been overwritten.`
      : 'Make room in it, or set ACS_DATA_DIR to a folder that you can write.';
    throw refusal(dataDir, reason(error), hint, error);
  }
}

/**
 * Opens the database of a data directory; an error in the file itself names the file.
 * @throws ServiceError `data-dir`
 */
export function inDatabase<Result>(dataDir: string, file: string, work: () => Result): Result {
  return inDataDir(dataDir, () => {
    try {
      return work();
    } catch (error) {
      if (!DAMAGED.test(words(error))) throw error;
      throw new ServiceError('data-dir', `${file} is damaged: ${(error as Error).message}`, {
        hint: `Move ${dataDir} away and start again; nothing in it has been overwritten.`,
        cause: error,
      });
    }
  });
}

function refusal(dataDir: string, why: string, hint: string, cause?: unknown): ServiceError {
  return new ServiceError('data-dir', `cannot use the data directory ${dataDir}: ${why}`, { hint, cause });
}

/**
 * When a folder cannot be created, Node may report that its parent is missing; the reason is the error for the parent.
 */
function reasonAt(dataDir: string, error: unknown): string {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return reason(error);
  for (let folder = path.dirname(dataDir); ; folder = path.dirname(folder)) {
    try {
      accessSync(folder, constants.W_OK);
    } catch (refused) {
      if ((refused as NodeJS.ErrnoException).code === 'ENOENT' && folder !== path.dirname(folder)) continue;
      return reason(refused);
    }
    return `nothing can be created in ${folder}`;
  }
}

function words(error: unknown): string {
  return `${String((error as { code?: unknown }).code)} ${String((error as Error).message)}`;
}

/** The error of the system as a text: Node's own message repeats the path and the call. */
function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'ENOSPC' || /SQLITE_FULL|disk is full/.test(words(error))) return 'the disk is full';
  if (code === 'EDQUOT') return 'the disk quota is used up';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a part of the path is not a directory';
  return error instanceof Error ? error.message : String(error);
}
