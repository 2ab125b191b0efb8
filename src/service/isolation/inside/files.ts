/** Reading and writing whole files in chunks, for downloads and uploads. */
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import type { Operations } from '../protocol.ts';
import { OperationError, systemCode } from './failure.ts';

interface Download {
  handle: FileHandle;
  size: number;
}

/** Downloads in chunks: all of one are read from the file that the first has opened, whatever its path names later. */
export class DownloadReader {
  readonly #workingDir: string;
  readonly #downloads = new Map<string, Download>();

  constructor(workingDir: string) {
    this.#workingDir = workingDir;
  }

  /** A chunk; shorter than requested at the end of the file, also before its size when it was truncated since. */
  async read(chunk: {
    path: string;
    token: string;
    offset: number;
    length: number;
  }): Promise<{ data: string; size: number }> {
    const { token, offset, length } = chunk;
    const download = this.#downloads.get(token) ?? (await this.#begin(chunk));
    const { handle, size } = download;
    try {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0 || offset + bytesRead >= size) await this.#end(token);
      return { data: buffer.subarray(0, bytesRead).toString('base64'), size };
    } catch (error) {
      await this.#end(token);
      throw new OperationError('invalid', `Cannot read ${chunk.path}: ${systemCode(error)}`);
    }
  }

  async #begin({ path: file, token, offset }: { path: string; token: string; offset: number }): Promise<Download> {
    if (offset > 0) throw new OperationError('invalid', 'The download has ended');
    const absolute = path.resolve(this.#workingDir, file);
    await regularFile(absolute);
    // Not blocking: a pipe may have replaced the file since.
    const handle = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw new OperationError('invalid', `Cannot read ${absolute}: ${systemCode(error)}`);
    });
    const found = await handle.stat();
    if (!found.isFile()) {
      await handle.close();
      throw new OperationError('not-a-file', 'Path is not a file');
    }
    const download = { handle, size: found.size };
    this.#downloads.set(token, download);
    return download;
  }

  async #end(token: string): Promise<void> {
    const download = this.#downloads.get(token);
    this.#downloads.delete(token);
    await download?.handle.close();
  }
}

/** Size of a regular file. A pipe or a device would block or never end. */
export async function regularFile(absolute: string): Promise<{ size: number; mode: number }> {
  const found = await stat(absolute).catch((error: unknown) => {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new OperationError('not-found', 'File not found');
    throw new OperationError('invalid', `Cannot read ${absolute}: ${code}`);
  });
  if (!found.isFile()) throw new OperationError('not-a-file', 'Path is not a file');
  return { size: found.size, mode: found.mode & 0o777 };
}

interface Upload {
  handle: FileHandle;
  part: string;
}

/** Uploads arrive in chunks, go to a file beside the target and take its place when they are complete. */
export class UploadWriter {
  readonly #workingDir: string;
  readonly #uploads = new Map<string, Upload>();

  constructor(workingDir: string) {
    this.#workingDir = workingDir;
  }

  async write(chunk: Operations['write']['takes']): Promise<void> {
    if (chunk.then === 'abandoned') return this.#giveUp(chunk.token);
    const target = path.resolve(this.#workingDir, chunk.path);
    try {
      const upload = this.#uploads.get(chunk.token) ?? (await this.#begin(target, chunk.token));
      await upload.handle.appendFile(Buffer.from(chunk.data, 'base64'));
      if (chunk.then === 'more') return;
      await upload.handle.close();
      await rename(upload.part, target);
      this.#uploads.delete(chunk.token);
    } catch (error) {
      await this.#giveUp(chunk.token);
      if (error instanceof OperationError) throw error;
      throw new OperationError('invalid', `Cannot write ${target}: ${systemCode(error) || (error as Error).message}`);
    }
  }

  async #begin(target: string, token: string): Promise<Upload> {
    const existing = await stat(target).catch(() => null);
    if (existing !== null && !existing.isFile()) throw new OperationError('not-a-file', 'Path is not a file');
    makeFolder(path.dirname(target));
    const part = path.join(path.dirname(target), `.upload-${token}.part`);
    const handle = await open(part, 'wx', existing === null ? 0o644 : existing.mode & 0o777);
    const upload = { handle, part };
    this.#uploads.set(token, upload);
    return upload;
  }

  async #giveUp(token: string): Promise<void> {
    const upload = this.#uploads.get(token);
    if (upload === undefined) return;
    this.#uploads.delete(token);
    await upload.handle.close().catch(() => undefined);
    await rm(upload.part, { force: true });
  }
}
