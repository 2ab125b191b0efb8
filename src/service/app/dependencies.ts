/**
 * Copies the installed dependencies of a checkout into its clone, which an agent may change. A copy
 * and no mount: the user goes on working in the checkout. Links stay links, and nothing outside of
 * the folders is read.
 */
import {
  appendFileSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { copyFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as soon } from 'node:timers/promises';
import { makeFolder } from '../../base/make-folder.ts';
import { cut } from '../../base/text/well-formed.ts';

/** A folder a line; a name with a line feed has a zero byte there. `"$@"`: git in the checkout. */
const LIST = `"$@" ls-files --others --ignored --exclude-standard --directory -z |
tr '\\n\\0' '\\0\\n' | grep -aE '(^|/)(node_modules|\\.?venv|vendor|target)/?$' | head -n 1000`;

const MIB = 1024 * 1024;
const MOST = { bytes: 2048 * MIB, entries: 200_000 };
const TOO_LARGE = 'more than 2 GiB or 200,000 entries with the others';
const LARGE_FILE = MIB;
const NAMED = 5;
/** Synchronous calls take half of the time of others; between so many the service answers. */
const AT_ONCE = 64;

export interface Copied {
  folders: string[];
  entries: number;
  bytes: number;
  leftOut: string[];
}

export interface CopyRequest {
  /** What the command of `listing` has printed. */
  folders: string;
  from: string;
  /** Without links in its path. */
  to: string;
  /** `movable`: those that do not name the path of the checkout. */
  which: 'all' | 'movable';
  signal: AbortSignal;
}

interface Entry {
  name: string;
  stats: Stats;
}

/** A command that lists the folders of installed packages which git ignores. */
export function listing(git: string[]): string[] {
  return ['/bin/sh', '-c', LIST, 'sh', ...git];
}

/** None of them is in another. */
function foldersOf(listed: string): string[] {
  const folders: string[] = [];
  for (const line of listed.split('\n')) {
    const isInLast = folders.length > 0 && line.startsWith(`${folders.at(-1)}/`);
    if (line !== '' && !line.includes('\0') && !isInLast) folders.push(line.replace(/\/$/, ''));
  }
  return folders;
}

/** Never fails for what cannot be copied. Throws the reason of the signal. */
export async function copyDependencies(request: CopyRequest): Promise<Copied> {
  const { folders, from, to, signal } = request;
  const copied: Copied = { folders: [], entries: 0, bytes: 0, leftOut: [] };
  for (const folder of foldersOf(folders)) {
    const target = path.join(to, folder);
    try {
      const obstacle = obstacleOf(folder, request);
      const listed = obstacle ?? (await list(path.join(from, folder), copied, signal));
      if (typeof listed === 'string') {
        copied.leftOut.push(`${folder} (${listed})`);
        continue;
      }
      const failed = await copyAll(listed.entries, path.join(from, folder), target, signal);
      const leftOut = [...listed.leftOut, ...failed];
      copied.leftOut.push(...leftOut.map((entry) => path.join(folder, entry)));
      copied.folders.push(folder);
      copied.entries += listed.entries.length;
      copied.bytes += listed.bytes;
    } catch (error) {
      signal.throwIfAborted();
      await rm(target, { recursive: true, force: true });
      copied.leftOut.push(`${folder} (${codeOf(error)})`);
    }
  }
  return copied;
}

function obstacleOf(folder: string, { from, to, which }: CopyRequest): string | null {
  const source = path.join(from, folder);
  const target = path.join(to, folder);
  const parent = path.dirname(target);
  if (!lstatSync(source).isDirectory()) return 'not a folder, or a link';
  // A commit may have a link in the place of a folder of the checkout.
  if (!isThere(parent) || realpathSync(parent) !== parent) return 'the commit lacks its folder';
  if (isThere(target)) return 'the commit has it';
  const namesCheckout = isThere(path.join(source, 'pyvenv.cfg'));
  return namesCheckout && which !== 'all' ? 'its programs name the path of the checkout' : null;
}

/** The entries of a folder, each after the folder that it is in; a text: why it is not copied. */
async function list(root: string, before: Copied, signal: AbortSignal) {
  const entries: Entry[] = [];
  const leftOut: string[] = [];
  const folders = [''];
  const most = MOST.entries - before.entries;
  let bytes = before.bytes;
  for (const folder of folders) {
    const names = await readdir(path.join(root, folder)).catch((error: unknown) => {
      if (folder === '') throw error;
      leftOut.push(`${folder} (${codeOf(error)})`);
      return [];
    });
    for (const name of names.map((name) => path.join(folder, name))) {
      await pause(entries.length, signal);
      const stats = lstatSync(path.join(root, name), { throwIfNoEntry: false });
      if (stats === undefined || !isCopyable(stats)) {
        leftOut.push(`${name} (no regular file)`);
        continue;
      }
      entries.push({ name, stats });
      if (stats.isDirectory()) folders.push(name);
      else bytes += stats.size;
      if (bytes > MOST.bytes || entries.length > most) return TOO_LARGE;
    }
  }
  return { entries, bytes: bytes - before.bytes, leftOut };
}

function isCopyable(stats: Stats): boolean {
  return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
}

async function copyAll(entries: Entry[], from: string, to: string, signal: AbortSignal) {
  const leftOut: string[] = [];
  mkdirSync(to);
  for (const [index, { name, stats }] of entries.entries()) {
    await pause(index, signal);
    try {
      await copyEntry(path.join(from, name), path.join(to, name), stats);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'ENOENT'].includes(codeOf(error))) throw error;
      leftOut.push(`${name} (${codeOf(error)})`);
    }
  }
  return leftOut;
}

async function copyEntry(from: string, to: string, stats: Stats): Promise<void> {
  if (stats.isDirectory()) return mkdirSync(to, stats.mode | 0o700);
  if (stats.isSymbolicLink()) return symlinkSync(readlinkSync(from), to);
  const { COPYFILE_FICLONE } = constants;
  if (stats.size > LARGE_FILE) await copyFile(from, to, COPYFILE_FICLONE);
  else copyFileSync(from, to, COPYFILE_FICLONE);
  // Compilers and interpreters compare the times of files.
  utimesSync(to, stats.mtime, stats.mtime);
}

/** The repository shows them nowhere, also when the agent changes .gitignore. */
export function excludeFolders(gitDir: string, folders: string[]): void {
  const info = path.join(gitDir, 'info');
  makeFolder(info);
  const patterns = folders.map((folder) => `/${folder.replace(/[\\*?[ ]/g, '\\$&')}/\n`);
  appendFileSync(path.join(info, 'exclude'), patterns.join(''));
}

export function reportOf({ folders, entries, bytes, leftOut }: Copied): string | null {
  const named = (names: string[]): string => {
    const rest = names.length - NAMED;
    const shown = names.slice(0, NAMED).map((name) => cut(name, 200));
    return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  };
  const size = `${entries.toLocaleString('en')} entries, ${Math.ceil(bytes / MIB)} MiB`;
  const parts = [
    ...(folders.length > 0 ? [`copied: ${named(folders)} (${size})`] : []),
    ...(leftOut.length > 0 ? [`left out: ${named(leftOut)}`] : []),
  ];
  return parts.length === 0 ? null : `dependencies ${parts.join('; ')}`;
}

async function pause(count: number, signal: AbortSignal): Promise<void> {
  if (count % AT_ONCE !== 0) return;
  await soon();
  signal.throwIfAborted();
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
