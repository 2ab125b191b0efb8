/** A file of any size in a multipart body, of which only a piece is in memory. */
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { refuse } from './answer.ts';

interface Taking {
  file: Readable;
  done: Promise<void>;
}

/** False: the form has no such file. Throws a 422 for another body, and the error of `take`. */
export async function readFilePart(
  c: Context,
  name: string,
  pieceBytes: number,
  take: (piece: Buffer) => Promise<void>,
): Promise<boolean> {
  const form = openForm(c);
  let taking: Taking | null = null;
  let refusal: { error: unknown } | null = null;
  let formError: unknown = null;
  form.on('error', (error: unknown) => {
    formError = error;
  });
  form.on('file', (field: string, file: BusboyFileStream) => {
    if (field !== name || taking !== null) {
      file.resume();
      return;
    }
    taking = { file, done: takeAll(file, pieceBytes, take) };
    // Otherwise the form would wait for its bytes to be read.
    taking.done.catch((error: unknown) => {
      refusal = { error };
      form.destroy(error as Error);
    });
  });
  const finished = once(form, 'finish');
  finished.catch(() => undefined);
  try {
    await feed(c, form);
    await finished;
  } catch (error) {
    const ended = refusal as { error: unknown } | null;
    const begun = taking as Taking | null;
    begun?.file.destroy(error as Error);
    await begun?.done.catch(() => undefined);
    if (ended !== null) throw ended.error;
    throw error === formError ? notAForm() : error;
  }
  await (taking as Taking | null)?.done;
  return taking !== null;
}

function openForm(c: Context): BusboyInstance {
  try {
    return new Busboy({ headers: { 'content-type': c.req.header('content-type') ?? '' } });
  } catch {
    throw notAForm();
  }
}

async function feed(c: Context, form: BusboyInstance): Promise<void> {
  const body: ReadableStream<Uint8Array> | null = c.req.raw.body;
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    await new Promise<void>((resolve, reject) => {
      form.once('error', reject);
      form.write(chunk, (error) => {
        form.off('error', reject);
        if (error) reject(error);
        else resolve();
      });
    });
  }
  form.end();
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

function notAForm(): Error {
  return refuse(422, 'The body is not a form');
}
