import {
  accessSync,
  constants,
  createReadStream,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { pack, type Pack } from 'tar-stream';
import { AppError, fileProblem } from '../../base/errors.ts';
import type { PathInfo } from '../../domain/sandbox-files.ts';

/** Throws no error: what cannot be looked at counts as not there. */
export function statPath(given: string, cwd: string): PathInfo {
  const full = path.resolve(cwd, given);
  const found = tried(() => statSync(full));
  const may = (file: string, mode: number) => tried(() => accessSync(file, mode)) !== null;
  const kind = kindOf(found);
  // The pipe of `<(command)` has no path but that of its descriptor.
  const real =
    (kind === 'file' || kind === 'folder' ? tried(() => realpathSync(full)) : null) ?? full;
  const folder = path.dirname(real);
  return {
    path: real,
    kind,
    bytes: kind === 'file' ? (found?.size ?? 0) : 0,
    mode: (found?.mode ?? 0) & 0o777,
    isReadable: may(real, constants.R_OK),
    isWritable: may(kind === 'folder' ? real : folder, constants.W_OK),
    hasFolder: tried(() => statSync(folder))?.isDirectory() === true,
  };
}

function kindOf(found: Stats | null): PathInfo['kind'] {
  if (found === null) return 'none';
  if (found.isDirectory()) return 'folder';
  return found.isFile() ? 'file' : 'other';
}

export function tried<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** `<(command)` of a shell is a pipe. */
export function isPipe(file: string): boolean {
  return tried(() => statSync(file))?.isFIFO() === true;
}

/** Makes `config` of a failure of the file system; another error stays as it is. */
export function fileError(what: 'read' | 'write', file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { reason, hint } = fileProblem(error);
  return new AppError('config', `cannot ${what} ${file}: ${reason}`, { hint, cause: error });
}

/** `bytes`: the announced size; without it all of a pipe. Throws `failed` for a shorter file. */
export async function* fileParts(file: string, bytes?: number): AsyncGenerator<Uint8Array, void> {
  try {
    let left = bytes ?? 0;
    const end = bytes === undefined ? undefined : bytes - 1;
    if (bytes !== 0) {
      for await (const part of createReadStream(file, { end }) as AsyncIterable<Uint8Array>) {
        left -= part.length;
        yield part;
      }
    }
    if (left > 0) throw new AppError('failed', `${file} became shorter while it was read`);
  } catch (error) {
    throw fileError('read', file, error);
  }
}

type Entry = NonNullable<Parameters<Pack['entry']>[0]> & { size: number };

/** Links are not followed. Throws `config` for what cannot be read. */
export async function openFolder(root: string, signal: AbortSignal) {
  const entries: Entry[] = [];
  const leftOut: string[] = [];
  const names = ['.'];
  /** The entry of a name, or why it is left out. The names in a folder are appended. */
  const read = async (name: string, full: string): Promise<Entry | string> => {
    // Node decodes names as UTF-8; of one with other bytes the file cannot be found again.
    if (name.includes('\uFFFD')) return 'its name is not UTF-8';
    const found = await lstat(full);
    const entry = { name: `./${name}`, mode: found.mode & 0o777, size: 0 };
    if (found.isFile()) return { ...entry, size: found.size, type: 'file' };
    if (found.isDirectory()) {
      names.push(...(await readdir(full)).sort().map((child) => path.posix.join(name, child)));
      return { ...entry, type: 'directory' };
    }
    if (!found.isSymbolicLink()) return NO_FILE;
    const linkname = await readlink(full);
    return staysInside(linkname, name) ? { ...entry, type: 'symlink', linkname } : LEADS_OUT;
  };
  for (const name of names) {
    signal.throwIfAborted();
    const full = path.join(root, name);
    try {
      const entry = await read(name, full);
      if (typeof entry === 'string') leftOut.push(`${name}: ${entry}`);
      else entries.push(entry);
    } catch (error) {
      throw fileError('read', full, error);
    }
  }
  const files = entries.filter(({ type }) => type !== 'directory');
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { files: files.length, bytes, leftOut, parts: () => packed(root, entries) };
}

export const LEADS_OUT = 'a link that leads out of the folder';
export const NO_FILE = 'neither a file, a folder nor a link';

/** A relative target that climbs only at its start, where the folders above are folders. */
export function staysInside(target: string, name: string): boolean {
  if (target.startsWith('/') || target === '') return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const down = parts.findIndex((part) => part !== '..');
  const up = down === -1 ? parts.length : down;
  return up < name.split('/').length && !parts.slice(up).includes('..');
}

async function* packed(
  root: string,
  entries: readonly Entry[],
): AsyncGenerator<Uint8Array, void, void> {
  const archive = pack();
  const add = (entry: Entry): Promise<void> =>
    new Promise((resolve, reject) => {
      const sink = archive.entry({ ...entry }, (error) => (error ? reject(error) : resolve()));
      const send = async (): Promise<void> => {
        const parts = fileParts(path.join(root, entry.name), entry.size);
        for await (const part of parts) if (!(await writePart(sink, part))) return;
        sink.end(null);
      };
      if (entry.type === 'file') send().catch(reject);
    });
  const filling = (async () => {
    for (const entry of entries) await add(entry);
    archive.finalize();
  })();
  let failure: unknown = null;
  filling.catch((error: unknown) => archive.destroy((failure = error) as Error));
  try {
    yield* archive as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failure ?? error;
  } finally {
    archive.destroy();
  }
}

/** Waits while the buffer is full. False: the stream has been destroyed. */
export async function writePart(
  stream: ReturnType<Pack['entry']>,
  part: Uint8Array,
): Promise<boolean> {
  if (!stream.write(part) && !stream.destroying) {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        stream.off('drain', go);
        stream.off('close', go);
        resolve();
      };
      stream.on('drain', go);
      stream.on('close', go);
    });
  }
  return !stream.destroying;
}
