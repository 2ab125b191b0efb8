import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';

/**
 * The body of a request, also that of a GET, which a Request of the web cannot hold; null when it is longer than
 * `maxBytes`. What is not read stays in the connection: http/server.ts discards it after the answer.
 */
export async function readBytes(context: Context, maxBytes: number): Promise<Buffer | null> {
  if (Number(context.req.header('content-length') ?? 0) > maxBytes) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of piecesOf(context)) {
    size += chunk.byteLength;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Neither iterator ends the connection when it is left early. */
function piecesOf(context: Context): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  const { incoming } = (context.env ?? {}) as { incoming?: IncomingMessage };
  if (context.req.method === 'GET' && incoming !== undefined) return incoming.iterator({ destroyOnReturn: false });
  return context.req.raw.body?.values({ preventCancel: true }) ?? [];
}
