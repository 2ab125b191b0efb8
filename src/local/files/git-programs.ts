import { lstatSync } from 'node:fs';
import path from 'node:path';
import { tried } from './pack.ts';

export const RUN_BY_GIT = 'git would run it, or programs that it names';

/** What Windows ignores at the end of a name. */
const END = '[ .]*(?::[^/]*)?';

const FOLDERS = `/(?:info|modules|worktrees)${END}$`;
const NAMES = `hooks|config|config[.]worktree|commondir|rebase-merge|info${END}/attributes`;
const FILES = `/(?:${NAMES})${END}(?:/|$)`;
/**
 * In `.git`, as the file systems of Windows and macOS read the name: programs, and files that name
 * programs or another place with such files. Only folders end with a slash.
 */
const PROGRAMS = new RegExp(`/(?:[.]git|git~1)${END}(?:$|${FOLDERS}|${FILES})`, 'i');
/** What HFS+ ignores in a name. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

export function isRunByGit(full: string) {
  return PROGRAMS.test(full.replaceAll('\\', '/').replace(IGNORED, ''));
}

/**
 * Removes it from a tree; returns the topmost paths. `folders`: where the tree will be, and where
 * it is.
 */
export function withoutGitPrograms(
  tree: Map<string, { kind: string }>,
  folders: readonly string[],
): string[] {
  const full = new Map([['.', folders[0]]]);
  const removed = new Set<string>();
  for (const [name, { kind }] of tree) {
    // git takes a folder of any name for a repository; of a submodule and a linked work tree it is
    // below .git.
    const has = (child: string) =>
      folders.some((folder) => tried(() => lstatSync(path.join(folder, name, child))) !== null);
    const isRepository =
      kind === 'folder' && (has('commondir') || ['HEAD', 'objects', 'refs'].every(has));
    const last = isRepository ? '.git' : path.posix.basename(name);
    const read = `${full.get(path.posix.dirname(name))}/${last}`;
    full.set(name, read);
    if (name !== '.' && isRunByGit(kind === 'folder' ? `${read}/` : read)) removed.add(name);
  }
  for (const name of removed) tree.delete(name);
  return [...removed].filter((name) => !removed.has(path.posix.dirname(name)));
}
