/** What is copied to a sandbox, read while it is sent: a file, and a folder as a tar archive. */
import { constants, statSync } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { pack, type Pack } from 'tar-stream';
import { AppError } from '../errors.ts';
import { LEADS_OUT, staysInside } from './links.ts';
import { fileError } from './problem.ts';

const PART_BYTES = 64 * 1024;

interface Entry {
  /** Below the folder, without `./`; empty for the folder itself. */
  name: string;
  type: 'file' | 'directory' | 'symlink';
  mode: number;
  bytes: number;
  target: string;
}

export interface FolderSource {
  files: number;
  bytes: number;
  /** What is not copied, with the reason. */
  leftOut: string[];
  parts: () => AsyncIterable<Uint8Array>;
}

/** Throws `config` for a file or folder in it that cannot be read. */
export async function openFolder(folder: string, signal: AbortSignal): Promise<FolderSource> {
  const leftOut: string[] = [];
  let files = 0;
  let bytes = 0;
  for await (const entry of walk(folder, (name, why) => leftOut.push(`${name}: ${why}`))) {
    signal.throwIfAborted();
    if (entry.type === 'directory') continue;
    files += 1;
    bytes += entry.bytes;
  }
  return { files, bytes, leftOut, parts: () => packed(folder) };
}

async function* packed(folder: string): AsyncGenerator<Uint8Array, void, void> {
  const archive = pack();
  let failure: unknown = null;
  const filling = fill(archive, folder).catch((error: unknown) => {
    failure = error;
    archive.destroy(error as Error);
  });
  try {
    yield* archive as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failure ?? error;
  } finally {
    archive.destroy();
    await filling;
  }
}

async function fill(archive: Pack, folder: string): Promise<void> {
  for await (const entry of walk(folder, () => undefined)) {
    const name = `./${entry.name}`;
    const header = { name, mode: entry.mode, type: entry.type };
    if (entry.type === 'file') await addFile(archive, name, path.join(folder, entry.name));
    else await added(archive, entry.type === 'symlink' ? { ...header, linkname: entry.target } : header);
  }
  archive.finalize();
}

/** Its size is that at the time of its opening: what is appended meanwhile is left out. */
async function addFile(archive: Pack, name: string, file: string): Promise<void> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(unreadable(file));
  try {
    const { size, mode } = await handle.stat();
    await added(archive, { name, mode: mode & 0o777, size, type: 'file' }, readParts(handle, file, size));
  } finally {
    await handle.close();
  }
}

/** Whether the path names a pipe, as `<(command)` of a shell does. */
export function isPipe(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFIFO() === true;
}

/** The first bytes of a file, or all of a pipe (Infinity). Throws `failed` when it ends before them, `config` when it cannot be read. */
export async function* fileParts(file: string, bytes: number): AsyncGenerator<Uint8Array, void> {
  const handle = await open(file).catch(unreadable(file));
  try {
    yield* readParts(handle, file, bytes);
  } finally {
    await handle.close();
  }
}

async function* readParts(handle: FileHandle, file: string, size: number): AsyncGenerator<Uint8Array, void> {
  for (let left = size; left > 0;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, PART_BYTES)));
    if (bytesRead === 0 && size === Infinity) return;
    if (bytesRead === 0) throw new AppError('failed', `${file} became shorter while it was read`);
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Adds an entry; the archive takes its next part when its reader has taken the ones before. */
async function added(
  archive: Pack,
  header: Parameters<Pack['entry']>[0],
  parts?: AsyncIterable<Uint8Array>,
): Promise<void> {
  let onEnd: (error?: Error | null) => void = () => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    onEnd = (error) => (error ? reject(error) : resolve());
  });
  ended.catch(() => undefined);
  const sink = archive.entry(header, onEnd);
  if (parts !== undefined) {
    for await (const part of parts) {
      if (!sink.write(part))
        await Promise.race([new Promise<void>((resolve) => sink.once('drain', () => resolve())), ended]);
    }
    sink.end(null);
  }
  await ended;
}

/** The folder itself first, then what is in it, folders before what is in them; links are not followed. */
async function* walk(
  folder: string,
  leaveOut: (name: string, why: string) => void,
  name = '',
): AsyncGenerator<Entry, void, void> {
  const full = path.join(folder, name);
  const { mode } = await lstat(full).catch(unreadable(full));
  yield { name, type: 'directory', mode: mode & 0o777, bytes: 0, target: '' };
  for (const child of (await readdir(full).catch(unreadable(full))).sort()) {
    const inner = name === '' ? child : `${name}/${child}`;
    if (child.includes('\uFFFD')) leaveOut(inner, 'its name is not UTF-8');
    else yield* walkEntry(folder, leaveOut, inner);
  }
}

async function* walkEntry(
  folder: string,
  leaveOut: (name: string, why: string) => void,
  name: string,
): AsyncGenerator<Entry, void, void> {
  const full = path.join(folder, name);
  const found = await lstat(full).catch(unreadable(full));
  const entry = { name, mode: found.mode & 0o777, bytes: 0, target: '' };
  if (found.isDirectory()) yield* walk(folder, leaveOut, name);
  else if (found.isFile()) yield { ...entry, type: 'file', bytes: found.size };
  else if (found.isSymbolicLink()) {
    const target = await readlink(full).catch(unreadable(full));
    if (staysInside(target, name.split('/').length - 1)) yield { ...entry, type: 'symlink', target };
    else leaveOut(name, LEADS_OUT);
  } else leaveOut(name, 'neither a file, a folder nor a link');
}

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    throw fileError('read', file, error);
  };
}
