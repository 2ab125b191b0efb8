/** An unpacked tree, put into a folder that is there. */
import { constants, type Stats } from 'node:fs';
import { access, lstat, rename } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { fileError } from './problem.ts';

/** What was unpacked, by its path without `./` (the folder itself: empty), folders before what is in them. */
export type Tree = Map<string, 'file' | 'folder' | 'link'>;

/**
 * What the folder does not have yet.
 * @throws `conflict` where the kinds differ, also for a link in place of a folder, and `config` where it cannot be written
 */
export async function missingIn(target: string, tree: Tree): Promise<Set<string>> {
  const missing = new Set<string>();
  for (const [name, kind] of tree) {
    const full = path.join(target, name);
    const there = missing.has(path.posix.dirname(name)) ? null : await lstatOrNull(full);
    if (there === null) missing.add(name);
    else if (name !== '') checkKind(full, kind, there);
    if (there !== null && kind === 'folder') await checkWritable(full);
  }
  return missing;
}

function checkKind(file: string, kind: 'file' | 'folder' | 'link', there: Stats): void {
  if (kind === 'folder' && !there.isDirectory()) {
    throw new AppError('conflict', `${file} is not a folder; a folder does not replace it`);
  }
  if (kind !== 'folder' && there.isDirectory()) {
    throw new AppError('conflict', `${file} is a folder; a file does not replace it`);
  }
}

async function checkWritable(folder: string): Promise<void> {
  await access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw fileError('write', folder, error);
  });
}

/** Moves the files, and the folders that are missing, each with all that is in it. */
export async function merge(tree: Tree, missing: Set<string>, from: string, target: string): Promise<void> {
  for (const [name, kind] of tree) {
    const isMoved = missing.has(path.posix.dirname(name));
    const isKept = kind === 'folder' && !missing.has(name);
    if (!isMoved && !isKept) await rename(path.join(from, name), path.join(target, name));
  }
}

async function lstatOrNull(file: string): Promise<Stats | null> {
  try {
    return await lstat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw fileError('write', file, error);
  }
}
