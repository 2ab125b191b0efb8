/** A file of any size in a multipart body, of which only a piece is in memory. */
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Context } from 'hono';
import { refuse } from './answer.ts';

/** False: the form has no such file. Throws a 422 for another body, and the error of `take`. */
export async function readFilePart(
  c: Context,
  name: string,
  pieceBytes: number,
  take: (piece: Buffer) => Promise<void>,
): Promise<boolean> {
  const form = openForm(c);
  const part: { file?: Readable; taken?: Promise<void>; failure?: { error: unknown } } = {};
  form.on('file', (field: string, file: BusboyFileStream) => {
    if (field !== name || part.file !== undefined) {
      file.resume();
      return;
    }
    part.file = file;
    part.taken = takeAll(file, pieceBytes, take).catch((error: unknown) => {
      part.failure ??= { error };
      // Otherwise the form would wait for its bytes to be read.
      form.destroy(error as Error);
    });
  });
  try {
    // The rest of a refused body is discarded by the server, so the stream stays open.
    await pipeline(c.req.raw.body?.values({ preventCancel: true }) ?? [], form);
  } catch {
    part.failure ??= { error: refuse(422, NO_FORM) };
    part.file?.destroy();
  }
  await part.taken;
  if (part.failure !== undefined) throw part.failure.error;
  return part.file !== undefined;
}

const NO_FORM = 'The body is not a form';

function openForm(c: Context): BusboyInstance {
  try {
    return new Busboy({ headers: { 'content-type': c.req.header('content-type') ?? '' } });
  } catch {
    throw refuse(422, NO_FORM);
  }
}

async function takeAll(
  file: Readable,
  pieceBytes: number,
  take: (piece: Buffer) => Promise<void>,
): Promise<void> {
  let chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of file as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size < pieceBytes) continue;
    await take(Buffer.concat(chunks));
    chunks = [];
    size = 0;
  }
  if (size > 0) await take(Buffer.concat(chunks));
}
