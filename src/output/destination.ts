import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { cannotWrite, fileProblem, NO_FOLDER } from '../base/errors.ts';

interface OpenFile {
  handle: FileHandle;
  /** Equal for a device or a pipe, which cannot be replaced. */
  temporary: string;
  target: string;
}

/** `mode`: of a new file, less the umask. A replaced one keeps its own, or becomes executable. */
export function fileDestination(file: string, cwd: string, mode = 0o666) {
  let opened: Promise<OpenFile> | null = null;
  const orFail = async (work: (file: OpenFile) => Promise<void>): Promise<void> => {
    try {
      await work(await (opened ??= openFile(path.resolve(cwd, file), mode)));
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw cannotWrite(file, isMissing ? NO_FOLDER : fileProblem(error), error);
    }
  };
  return {
    write: (chunk: string | Uint8Array): Promise<void> =>
      orFail(({ handle }) => handle.appendFile(chunk)),
    async close(): Promise<void> {
      if (!opened) return;
      await orFail(async ({ handle, temporary, target }) => {
        await handle.close();
        if (temporary !== target) await rename(temporary, target);
      });
      opened = null;
    },
    async abandon(): Promise<void> {
      const left = await opened?.catch(() => null);
      opened = null;
      if (!left) return;
      await left.handle.close().catch(() => undefined);
      if (left.temporary !== left.target) await unlink(left.temporary).catch(() => undefined);
    },
  };
}

async function openFile(wanted: string, mode: number): Promise<OpenFile> {
  // An open descriptor belongs to the process that opened it; its file may be half written.
  if (/^\/(dev\/fd|proc\/[^/]+\/fd)\/|^\/dev\/stderr$/.test(wanted)) {
    return { handle: await open(wanted, 'a'), temporary: wanted, target: wanted };
  }
  const linked = async (): Promise<string> => {
    const link = await readlink(wanted).catch(() => null);
    return link === null ? wanted : path.resolve(path.dirname(wanted), link);
  };
  const target = await realpath(wanted).catch(linked);
  const existing = await stat(target).catch(() => null);
  if (existing && !existing.isFile()) {
    return { handle: await open(target, 'w'), temporary: target, target };
  }
  const temporary = path.join(
    path.dirname(target),
    `.${path.basename(target)}.${randomBytes(6).toString('hex')}.tmp`,
  );
  const handle = await open(temporary, 'wx', mode);
  if (existing) {
    const executable = (mode & 0o100) === 0 ? 0 : (existing.mode & 0o444) >> 2;
    await handle.chmod((existing.mode & 0o777) | executable).catch(() => undefined);
  }
  return { handle, temporary, target };
}
