/**
 * Puts prepared files into their place in a checkout: all of them or none. Every file is complete on the same file system
 * before the first rename, and the renames are synchronous, so that no signal is handled between them. A journal lets
 * the next command undo what a killed process, or a machine without power, left half done.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { AppError, isAppError } from '../../errors.ts';

/** One path of the checkout. */
export interface FileMove {
  /** Each byte is one character (latin1), because names may be in any encoding. */
  path: string;
  /** The checkout may have a file there, which goes. */
  removes: boolean;
  /** The stage has a file for it. */
  adds: boolean;
}

export interface Installation {
  /** Top folder of the checkout. */
  root: string;
  /** A folder on the same file system: `new/` has the files to add; `old/` and the journal are made in it. */
  stage: string;
  moves: readonly FileMove[];
  /** Called after the last rename; an error undoes all. */
  last?: () => void;
}

const JOURNAL = 'journal.json';

/**
 * @throws AppError `conflict` where a link or a file is in the way; `config` for other errors of the file system. Nothing
 * has changed then, unless the error states that the files before could not be restored: then the stage must be kept.
 */
export function install({ root, stage, moves, last }: Installation): void {
  const journal = path.join(stage, JOURNAL);
  try {
    for (const { path: name, adds } of moves) if (adds) refuseLinkedParent(root, name);
    writeSafely(journal, JSON.stringify({ root, moves }));
    for (const { path: name, removes } of moves) if (removes) moveAway(root, stage, name);
    for (const { path: name, adds } of moves) if (adds) moveIn(root, stage, name);
    last?.();
  } catch (error) {
    restore(stage, root);
    throw isAppError(error) ? error : unwritable(root, error);
  }
  rmSync(journal);
}

/** Whether an installation from this stage ended in the middle: the only copies of files may be in it. */
export function isUnfinished(stage: string): boolean {
  return existsSync(path.join(stage, JOURNAL));
}

function restore(stage: string, root: string): void {
  try {
    undo(stage);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError('config', `cannot restore the files in ${root}: ${reason}`, {
      hint: `they are kept in ${path.join(stage, 'old')}; the next conv pull in this checkout restores them`,
      cause: error,
    });
  }
}

/**
 * Undoes an installation that ended in the middle; false when there is none. It may be repeated.
 * @throws the error of the file system
 */
export function undo(stage: string): boolean {
  if (!isUnfinished(stage)) return false;
  const journal = path.join(stage, JOURNAL);
  const { root, moves } = JSON.parse(readFileSync(journal, 'utf8')) as Pick<Installation, 'root' | 'moves'>;
  for (const { path: name, adds } of moves) {
    // What is no longer in the stage has been moved into the checkout.
    if (!adds || found(path.join(stage, 'new'), name)) continue;
    rmSync(at(root, name), { force: true });
    removeEmptyParents(root, name);
  }
  for (const { path: name, removes } of moves) {
    const old = path.join(stage, 'old');
    if (!removes || !found(old, name)) continue;
    makeParents(root, name);
    renameSync(at(old, name), at(root, name));
  }
  rmSync(journal);
  return true;
}

function moveAway(root: string, stage: string, name: string): void {
  if (!found(root, name)) return;
  const old = path.join(stage, 'old');
  mkdirSync(old, { recursive: true });
  makeParents(old, name);
  renameSync(at(root, name), at(old, name));
  removeEmptyParents(root, name);
}

function moveIn(root: string, stage: string, name: string): void {
  const there = found(root, name);
  if (there?.isDirectory() === true) rmdirSync(at(root, name));
  else if (there) throw inTheWay(name, 'a file');
  makeParents(root, name);
  renameSync(at(path.join(stage, 'new'), name), at(root, name));
}

/** A link to a folder would lead the file out of the checkout. */
function refuseLinkedParent(root: string, name: string): void {
  for (const parent of parentsOf(name)) {
    if (found(root, parent)?.isSymbolicLink() === true) throw inTheWay(parent, 'a symbolic link');
  }
}

function inTheWay(name: string, what: string): AppError {
  return new AppError('conflict', `${readable(name)} is ${what}, and the changes need its place`, {
    hint: 'move it away, and try again; nothing was changed',
  });
}

function unwritable(root: string, error: unknown): AppError {
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('config', `cannot change the files in ${root}: ${reason}`, {
    hint: 'nothing was changed',
    cause: error,
  });
}

/** For people: text where the name is UTF-8. */
export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

function at(folder: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
}

/** What is at this path, of a link the link itself. */
export function found(folder: string, name: string): Stats | undefined {
  try {
    return lstatSync(at(folder, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}

/** `a`, `a/b` of `a/b/c`. */
function parentsOf(name: string): string[] {
  const parts = name.split('/');
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function makeParents(folder: string, name: string): void {
  for (const parent of parentsOf(name)) if (!found(folder, parent)) mkdirSync(at(folder, parent));
}

function removeEmptyParents(folder: string, name: string): void {
  for (const parent of parentsOf(name).toReversed()) {
    try {
      rmdirSync(at(folder, parent));
    } catch {
      return; // it has other files
    }
  }
}

/** On the disk before anything depends on it. */
function writeSafely(file: string, text: string): void {
  writeFileSync(file, text);
  const handle = openSync(file, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
