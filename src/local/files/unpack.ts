/** The archive is not trusted: no name and no link of it leads out of the folder. */
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { extract, type Extract } from 'tar-stream';
import { AppError, isAppError } from '../../base/errors.ts';
import { clash, type PathInfo } from '../../domain/sandbox-files.ts';
import { RUN_BY_GIT, withoutGitPrograms } from './git-programs.ts';
import { fileError, LEADS_OUT, NO_FILE, staysInside, writePart } from './pack.ts';
import { cut } from '../../base/text/well-formed.ts';

/** Keys are paths (the folder itself: `.`), folders before what is in them. */
type Tree = Map<string, { kind: Kind; mode: number; bytes: number }>;

/** A throw changes nothing: `conflict` of a file with a folder, `server` for a bad archive. */
export async function unpackInto(
  { path: target, kind }: PathInfo,
  receive: (into: (part: Uint8Array) => Promise<void>) => Promise<void>,
) {
  const archive = extract();
  const leftOut: string[] = [];
  let stage: string | null = null;
  let unpacking: Promise<Tree> | null = null;
  try {
    stage = await mkdtemp(path.join(kind === 'folder' ? target : path.dirname(target), '.acs-cp-'));
    const folder = path.join(stage, 'new');
    await mkdir(folder);
    const unpacked = (unpacking = unpack(archive, folder, leftOut));
    await receive(async (part) => void ((await writePart(archive, part)) || (await unpacked)));
    archive.end(null);
    const tree = await unpacked;
    for (const name of withoutGitPrograms(tree, [target, folder])) {
      leftOut.push(`${name}: ${RUN_BY_GIT}`);
      await rm(path.join(folder, name), { recursive: true });
    }
    const files = [...tree.values()].filter((entry) => entry.kind !== 'folder');
    const made =
      kind === 'folder'
        ? await merge(tree, folder, target)
        : await rename(folder, target).then(() => tree);
    // Folders whose owner must not write to them or read them get these modes last.
    for (const [name, { kind: each, mode }] of [...made].reverse()) {
      const full = path.join(target, name);
      if (each === 'folder' && (mode & 0o700) !== 0o700)
        await chmod(full, (await stat(full)).mode & mode);
    }
    return {
      files: files.length,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      leftOut,
    };
  } catch (error) {
    throw fileError('write', target, error);
  } finally {
    archive.destroy();
    await unpacking?.catch(() => undefined);
    if (stage !== null) await rm(stage, { recursive: true, force: true });
  }
}

type Kind = 'file' | 'folder' | 'link';
type Entry = Extract extends AsyncIterable<infer E> ? E : never;

async function unpack(archive: Extract, root: string, leftOut: string[]): Promise<Tree> {
  const tree: Tree = new Map();
  const links: [file: string, target: string][] = [];
  /** The kind of what was unpacked, or why the entry is left out. */
  const unpackEntry = async (entry: Entry, name: string): Promise<{ kind: Kind } | string> => {
    const { type, mode, linkname } = entry.header;
    const full = path.join(root, name);
    const parent = path.posix.dirname(name);
    if (name.includes('\uFFFD')) return 'its name is not UTF-8';
    // Nothing is written through a link: what an entry is in was unpacked as a folder.
    if (tree.has(name) || (parent !== '.' && tree.get(parent)?.kind !== 'folder'))
      throw leadsOut(name);
    switch (type) {
      case 'directory':
        if (name === '.') await chmod(full, (await stat(full)).mode & (mode | 0o700));
        else await mkdir(full, { mode: (mode & 0o777) | 0o700 });
        return { kind: 'folder' };
      case 'file':
      case 'contiguous-file': {
        const options = { flag: 'wx', mode: mode & 0o777 };
        await writeFile(full, entry as AsyncIterable<Uint8Array>, options);
        return { kind: 'file' };
      }
      case 'link': {
        const from = safeName(linkname);
        if (tree.get(from)?.kind !== 'file') throw leadsOut(linkname);
        await copyFile(path.join(root, from), full, constants.COPYFILE_EXCL);
        return { kind: 'file' };
      }
      case 'symlink':
        if (!staysInside(linkname, name)) return LEADS_OUT;
        links.push([full, linkname]);
        return { kind: 'link' };
      default:
        return NO_FILE;
    }
  };
  try {
    for await (const entry of archive) {
      const name = safeName(entry.header.name);
      const unpacked = await unpackEntry(entry, name);
      if (typeof unpacked === 'string') leftOut.push(`${name}: ${unpacked}`);
      else
        tree.set(name, { ...unpacked, mode: entry.header.mode & 0o777, bytes: entry.header.size });
      entry.resume();
    }
    for (const [file, target] of links) await symlink(target, file);
    return tree;
  } catch (error) {
    if (isAppError(error) || 'syscall' in (error as Error)) throw fileError('write', root, error);
    throw new AppError(
      'server',
      `the archive of the sandbox cannot be read: ${(error as Error).message}`,
    );
  }
}

function safeName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) throw leadsOut(name);
  return parts.join('/') || '.';
}

function leadsOut(name: string): AppError {
  const shown = JSON.stringify(cut(name, 200));
  return new AppError(
    'server',
    `the archive of the sandbox has a path that is not allowed: ${shown}`,
    {
      hint: 'nothing was written',
    },
  );
}

async function merge(tree: Tree, from: string, target: string): Promise<Tree> {
  const made: Tree = new Map();
  for (const [name, entry] of tree) {
    const full = path.join(target, name);
    const there = await lstat(full).catch(() => null);
    if (there === null) made.set(name, entry);
    else if (name !== '.' && there.isDirectory() !== (entry.kind === 'folder'))
      throw clash(full, there.isDirectory());
  }
  for (const [name, { kind, mode }] of tree) {
    const full = path.join(target, name);
    if (kind !== 'folder') await rename(path.join(from, name), full);
    else if (made.has(name)) await mkdir(full, { mode: mode | 0o700 });
  }
  return made;
}
