/** Reading and writing whole files in chunks, for downloads and uploads. */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { OperationError, systemCode } from './failure.ts';

/** A part of a regular file; shorter than asked for at its end. */
export async function readChunk(
  workingDir: string,
  file: string,
  offset: number,
  length: number,
): Promise<{ data: string; size: number }> {
  const absolute = path.resolve(workingDir, file);
  const { size } = await regularFile(absolute);
  const handle = await open(absolute, 'r').catch((error: unknown) => {
    throw new OperationError('invalid', `Cannot read ${absolute}: ${systemCode(error)}`);
  });
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    return { data: buffer.subarray(0, bytesRead).toString('base64'), size };
  } finally {
    await handle.close();
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

  async write(chunk: { path: string; token: string; data: string; last: boolean }): Promise<void> {
    const target = path.resolve(this.#workingDir, chunk.path);
    try {
      const upload = this.#uploads.get(chunk.token) ?? (await this.#begin(target, chunk.token));
      await upload.handle.write(Buffer.from(chunk.data, 'base64'));
      if (!chunk.last) return;
      this.#uploads.delete(chunk.token);
      await upload.handle.close();
      await rename(upload.part, target);
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
    const part = path.join(path.dirname(target), `.${path.basename(target).slice(0, 100)}.${token}.part`);
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
