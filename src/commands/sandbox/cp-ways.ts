/** A copy from a sandbox, and one to it. */
import type { Context } from '../../context.ts';
import { checkSource, nameOf, type Place, targetOf } from '../../domain/place.ts';
import type { SandboxContent, SandboxFiles } from '../../domain/sandbox-files.ts';
import { AppError } from '../../errors.ts';
import { lookAt } from '../../local-files/look.ts';
import { fileDestination } from '../../output/destination.ts';
import { LAST_LOOK_MS, timeLimit } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import type { Copied } from './view.ts';
import { counting } from './cp-progress.ts';
import type { Side } from './cp-sides.ts';

interface At {
  ctx: Context;
  server: Server;
  /** Of the sandbox. */
  id: string;
}

const RELATIVE = 'a relative path begins at the workspace folder of the sandbox';

type LocalSide = Exclude<Side, { at: 'sandbox' }>;

/** What is uploaded: `files` and `bytes` are null where they are not known before. */
interface Upload extends SandboxContent {
  /** As in the result. */
  from: string;
  name: string | null;
  files: number;
  total: number | null;
  leftOut: string[];
}

/** Looks at the source. Throws `config` when it is not there. */
export async function prepareUpload(ctx: Context, side: LocalSide): Promise<Upload> {
  const stream = { name: null, files: 1, leftOut: [], mode: null, bytes: null, total: null };
  if (side.at === 'stream') return { ...stream, kind: 'file', from: '-', parts: once(ctx.io.stdin.raw) };
  const place = lookAt(side.path, ctx.cwd);
  if (place.kind === 'none') {
    throw new AppError('config', `cannot read ${side.path}: it does not exist`, {
      hint: `check the path; full path: ${place.path}`,
    });
  }
  const { path: from, mode, bytes } = place;
  const name = nameOf(side.path);
  const { fileParts, isPipe, openFolder } = await import('../../local-files/pack.ts');
  if (place.kind === 'other' && isPipe(from)) {
    return { ...stream, kind: 'file', from, parts: once(fileParts(from, Infinity)) };
  }
  const kind = checkSource(place, side.path);
  if (kind === 'file') {
    const parts = () => fileParts(from, bytes);
    return { kind, from, name, files: 1, leftOut: [], mode, bytes, total: bytes, parts };
  }
  const { parts, files, bytes: total, leftOut } = await openFolder(from, ctx.signal);
  return { kind, from, name, files, leftOut, mode: null, bytes: null, total, parts };
}

/** The bytes of a stream, which cannot be read again. */
function once(stream: unknown): () => AsyncIterable<Uint8Array> {
  let isRead = false;
  return () => {
    if (isRead) {
      throw new AppError('network', 'the connection was cut while a stream was sent; it cannot be read again', {
        retryable: true,
      });
    }
    isRead = true;
    return stream as AsyncIterable<Uint8Array>;
  };
}

export async function upload(at: At, content: Upload, path: string): Promise<Copied> {
  const { ctx, id } = at;
  const { kind, name, from } = content;
  return await withFiles(at, async (files) => {
    const target = await targetOf({ kind, name }, path, (each) => files.look(each), noPlace);
    for (const each of content.leftOut) await ctx.warn(`left out: ${each}`);
    const counter = await counting(ctx, `copying to sandbox ${id}`, content.total);
    const bytes = await counter.during(() =>
      files.upload(target, { ...content, parts: () => counter.of(content.parts()) }),
    );
    return { from, to: `${id}:${target.path}`, files: content.files, bytes: content.total ?? bytes };
  });
}

function noPlace(message: string): AppError {
  return new AppError('not-found', `${message} in the sandbox`, { hint: RELATIVE });
}

export async function download(at: At, path: string, side: LocalSide): Promise<Copied> {
  const { ctx, id } = at;
  return await withFiles(at, async (files) => {
    const place = await files.look(path);
    if (place.kind === 'none') {
      throw new AppError('not-found', `sandbox ${id} has no ${place.path}`, { hint: RELATIVE });
    }
    const kind = checkSource(place, path);
    const from = `${id}:${place.path}`;
    const counter = await counting(ctx, `copying from sandbox ${id}`, kind === 'file' ? place.bytes : null);
    const receive = (into: (part: Uint8Array) => Promise<void>) =>
      counter.during(() => files.download(place, counter.into(into)));
    if (side.at === 'stream') {
      if (kind === 'folder') throw new AppError('usage', `${place.path} is a folder; only a file goes to stdout`);
      return { from, to: '-', files: 1, bytes: await receive((part) => ctx.out.raw(part)) };
    }
    const look = (each: string) => Promise.resolve(lookAt(each, ctx.cwd));
    const target = await targetOf({ kind, name: nameOf(path) }, side.path, look, noFolder);
    const received =
      kind === 'file' ? await intoFile(ctx, place, target, receive) : await intoFolder(ctx, target, receive);
    return { from, to: target.path, ...received };
  });
}

function noFolder(message: string): AppError {
  return new AppError('config', message);
}

type Receive = (into: (part: Uint8Array) => Promise<void>) => Promise<number>;

async function intoFile(
  ctx: Context,
  { mode }: Place,
  target: Place,
  receive: Receive,
): Promise<{ files: number; bytes: number }> {
  const destination = fileDestination(target.path, ctx.cwd, mode ?? undefined);
  try {
    const bytes = await receive((part) => destination.write(part));
    // An empty file has no part.
    await destination.write('');
    ctx.signal.throwIfAborted();
    await destination.close();
    return { files: 1, bytes };
  } catch (error) {
    await destination.abandon();
    throw error;
  }
}

async function intoFolder(ctx: Context, target: Place, receive: Receive): Promise<{ files: number; bytes: number }> {
  const { Unpacking } = await import('../../local-files/unpack.ts');
  const unpacking = new Unpacking(target);
  try {
    await receive((part) => unpacking.write(part));
    ctx.signal.throwIfAborted();
    const { leftOut, ...unpacked } = await unpacking.commit();
    for (const each of leftOut) await ctx.warn(`left out: ${each}`);
    return unpacked;
  } catch (error) {
    await unpacking.discard();
    throw error;
  }
}

/** Removes what an interrupted copy has left in the sandbox. */
async function withFiles<T>({ ctx, server, id }: At, work: (files: SandboxFiles) => Promise<T>): Promise<T> {
  const files = await server.sandboxes.files(id);
  try {
    return await work(files);
  } catch (error) {
    const { remains } = files;
    if (remains !== null && ctx.signal.aborted) await removeRemains({ ctx, server, id }, remains);
    throw error;
  }
}

async function removeRemains({ ctx, server, id }: At, remains: string): Promise<void> {
  const limit = timeLimit(ctx, LAST_LOOK_MS);
  try {
    const awake = await server.withSignal(limit.signal);
    await (await awake.sandboxes.files(id)).removeRemains(remains);
  } catch {
    await ctx.warn(`what was copied so far may have been left in sandbox ${id}: a name that begins with .acs-cp-`);
  } finally {
    limit.clear();
  }
}
