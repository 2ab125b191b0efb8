/** Where data goes: stdout, or the file of --output, which appears only once it is whole. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../errors.ts';

export interface Destination {
  write(chunk: string | Uint8Array): Promise<void>;
  /** Puts the file in its place. */
  close(): Promise<void>;
  /** Leaves what was there before as it was. */
  abandon(): Promise<void>;
}

/** stdout: nothing to put in place. */
export function streamDestination(stream: { write(chunk: string | Uint8Array): Promise<void> }): Destination {
  return {
    write: async (chunk) => {
      if (chunk.length > 0) await stream.write(chunk);
    },
    close: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

interface OpenFile {
  handle: FileHandle;
  /** Where the bytes are now, and where they belong; equal for a device or a pipe, which cannot be replaced. */
  temporary: string;
  target: string;
}

/**
 * A file that is written beside its place under another name and renamed by `close`. Opened at the first write.
 * @param file as the user gave it
 * @param cwd folder it is relative to
 * @param mode permission bits of a new file, less those of the umask; a file that is replaced keeps its own, and can be
 *   executed by whoever may read it when the new one can be executed
 */
export function fileDestination(file: string, cwd: string, mode = 0o666): Destination {
  let opened: Promise<OpenFile> | null = null;
  const fail = (error: unknown): never => {
    throw new AppError('config', `cannot write ${file}: ${systemReason(error)}`, { cause: error });
  };
  return {
    async write(chunk) {
      opened ??= openFile(path.resolve(cwd, file), mode);
      try {
        const { handle } = await opened;
        await writeAll(handle, chunk);
      } catch (error) {
        fail(error);
      }
    },
    async close() {
      if (!opened) return;
      try {
        const { handle, temporary, target } = await opened;
        await handle.close();
        if (temporary !== target) await rename(temporary, target);
      } catch (error) {
        fail(error);
      }
      opened = null;
    },
    async abandon() {
      if (!opened) return;
      const file = await opened.catch(() => null);
      opened = null;
      if (!file) return;
      await file.handle.close().catch(() => undefined);
      if (file.temporary !== file.target) await unlink(file.temporary).catch(() => undefined);
    },
  };
}

async function openFile(wanted: string, mode: number): Promise<OpenFile> {
  // An open descriptor belongs to the process that opened it; its file may be half written.
  if (/^\/(dev\/fd|proc\/[^/]+\/fd)\/|^\/dev\/stderr$/.test(wanted)) {
    return { handle: await open(wanted, 'a'), temporary: wanted, target: wanted };
  }
  // A link stays a link: the file it leads to is the one that is replaced.
  const target = await realpath(wanted).catch(() => linkTarget(wanted));
  const existing = await stat(target).catch(() => null);
  if (existing && !existing.isFile()) {
    return { handle: await open(target, 'w'), temporary: target, target };
  }
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(temporary, 'wx', mode);
  if (existing) await handle.chmod(modeOf(existing.mode, mode)).catch(() => undefined);
  return { handle, temporary, target };
}

function modeOf(existing: number, mode: number): number {
  return (existing & 0o777) | ((mode & 0o100) === 0 ? 0 : (existing & 0o444) >> 2);
}

/** Where a link leads that leads to nothing yet; the file itself when it is none. */
async function linkTarget(file: string): Promise<string> {
  const link = await readlink(file).catch(() => null);
  return link === null ? file : path.resolve(path.dirname(file), link);
}

async function writeAll(handle: FileHandle, chunk: string | Uint8Array): Promise<void> {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
  for (let offset = 0; offset < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, offset);
    offset += bytesWritten;
  }
}

function systemReason(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  const known: Record<string, string> = {
    ENOENT: 'its folder does not exist',
    ENOTDIR: 'a part of its path is not a folder',
    EISDIR: 'it is a folder',
    EACCES: 'permission denied',
    EPERM: 'not permitted',
    EROFS: 'the file system is read-only',
    ENOSPC: 'no space left on the device',
  };
  if (typeof code === 'string') return known[code] ?? code;
  return error instanceof Error ? error.message : String(error);
}
