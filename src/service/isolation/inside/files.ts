import { constants, createReadStream } from 'node:fs';
import {
  type FileHandle,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../base/make-folder.ts';
import type { Failure, Operations, ReadParameters, WriteParameters } from '../protocol.ts';

export class OperationError extends Error {
  readonly code: Failure['code'];

  constructor(code: Failure['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const downloads = new Map<string, { handle: FileHandle; size: number }>();

export async function readChunk(chunk: ReadParameters): Promise<{ data: string; size: number }> {
  const { token, offset, length, path: file } = chunk;
  let isOver = true;
  try {
    const { handle, size } = downloads.get(token) ?? (await beginDownload(chunk));
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    isOver = bytesRead === 0 || offset + bytesRead >= size;
    return { data: buffer.subarray(0, bytesRead).toString('base64'), size };
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    throw isMissing
      ? new OperationError('not-found', 'File not found')
      : refusal(`Cannot read ${file}`, error);
  } finally {
    if (isOver) {
      const handle = downloads.get(token)?.handle;
      downloads.delete(token);
      await handle?.close();
    }
  }
}

async function beginDownload({ path: file, token, offset, within }: ReadParameters) {
  if (within !== undefined && !(await realpath(file)).startsWith(`${await realpath(within)}/`))
    throw new OperationError('invalid', 'it is outside of the folder.');
  if (offset > 0) throw new OperationError('invalid', 'The download has ended');
  // A pipe or a device would block or never end; it may replace the file between both calls.
  if (!(await stat(file)).isFile()) throw new OperationError('not-a-file', 'Path is not a file');
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  const download = { handle, size: stats.size };
  downloads.set(token, download);
  if (!stats.isFile()) throw new OperationError('not-a-file', 'Path is not a file');
  return download;
}

const uploads = new Map<
  string,
  { handle: FileHandle; part: string; target: string; inPlace: boolean }
>();

// A complete upload replaces its target, which may be a link. A target with several hard links, or
// of another owner, is overwritten: it stays the same file.
export async function writeChunk({
  path: file,
  token,
  data,
  then,
}: WriteParameters): Promise<void> {
  try {
    if (then === 'abandoned') return await abandonUpload(token);
    const { handle, part, target, inPlace } =
      uploads.get(token) ?? (await beginUpload(file, token));
    await handle.appendFile(Buffer.from(data, 'base64'));
    if (then === 'more') return;
    const { size } = await handle.stat();
    await handle.close();
    if (inPlace) {
      // Cut at the end: on a full disk the file keeps the space that it has.
      await writeFile(target, createReadStream(part), { flag: 'r+' });
      await truncate(target, size);
      await rm(part);
    } else await rename(part, target);
    uploads.delete(token);
  } catch (error) {
    await abandonUpload(token);
    throw refusal(`Cannot write ${file}`, error);
  }
}

async function beginUpload(file: string, token: string) {
  const existing = await stat(file).catch(() => null);
  if (existing !== null && !existing.isFile())
    throw new OperationError('not-a-file', 'Path is not a file');
  const target = existing === null ? file : await realpath(file);
  makeFolder(path.dirname(target));
  const part = path.join(path.dirname(target), `.upload-${token}.part`);
  const handle = await open(part, 'wx', 0o644);
  const { uid, gid } = await handle.stat();
  const inPlace =
    existing !== null && (existing.nlink > 1 || existing.uid !== uid || existing.gid !== gid);
  const upload = { handle, part, target, inPlace };
  uploads.set(token, upload);
  if (existing !== null) await handle.chmod(existing.mode & 0o777);
  return upload;
}

async function abandonUpload(token: string): Promise<void> {
  const upload = uploads.get(token);
  if (upload === undefined) return;
  uploads.delete(token);
  await upload.handle.close().catch(() => undefined);
  await rm(upload.part, { force: true });
}

export async function listFolder(folder: string): Promise<Operations['list']['gives']['entries']> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  } catch (error) {
    throw refusal(`Cannot list ${folder}`, error);
  }
}

function refusal(what: string, error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new OperationError('invalid', `${what}: ${code ?? message}`);
}
