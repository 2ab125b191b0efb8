/** Files of the sandbox: download, upload, the log of a conversation as an archive. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Context, Hono } from 'hono';
import { pathQuery } from '../../../protocol/agent-server/requests.ts';
import type { WorkerContext } from '../context.ts';
import { conversationOf, HttpRefusal, pathAtEnd, readBytesOf, readQuery } from '../http.ts';
import { trajectoryArchive } from '../trajectory.ts';

const CHUNK = 1024 * 1024;

export function fileRoutes(app: Hono, worker: WorkerContext): void {
  app.get('/api/file/download', (context) => download(context, worker, readQuery(context, pathQuery).path));
  app.post('/api/file/upload', (context) => upload(context, worker, readQuery(context, pathQuery).path));
  app.get('/api/file/download/:path{.+}', (context) => download(context, worker, pathAtEnd(context)));
  app.post('/api/file/upload/:path{.+}', (context) => upload(context, worker, pathAtEnd(context)));

  app.get('/api/file/home', async (context) => {
    const { home } = await worker.sandbox.ask('home', {});
    return context.json({ home, favorites: [], locations: [{ label: '/', path: '/' }] });
  });

  app.get('/api/file/download-trajectory/:id', (context) => {
    const entry = conversationOf(context, worker.conversations);
    return context.body(trajectoryArchive(entry), 200, attachment(`${entry.conversation.id}.zip`));
  });

  app.get('/api/file/archive', async (context) => {
    const { path: folder, ref, format = 'git-delta' } = readQuery(context, pathQuery);
    assertAbsolute(folder);
    if (format !== 'git-delta') throw new HttpRefusal(400, 'Only the format git-delta is there');
    const { patch } = await worker.sandbox.ask('git_delta', { path: folder, ref: ref ?? null });
    return context.body(patch, 200, {
      ...attachment('changes.patch'),
      'Content-Type': 'text/x-patch; charset=utf-8',
    });
  });
}

function assertAbsolute(file: string): void {
  if (!path.isAbsolute(file)) throw new HttpRefusal(400, 'Path must be absolute');
}

function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`,
  };
}

/**
 * Sent chunk by chunk as the client takes it, with its length announced: a file that is truncated meanwhile ends the
 * connection, because the status has been sent.
 */
async function download(context: Context, { sandbox }: WorkerContext, file: string): Promise<Response> {
  assertAbsolute(file);
  const token = randomUUID();
  const read = async (offset: number, length: number) => {
    const { data, size } = await sandbox.ask('read', { path: file, token, offset, length });
    return { chunk: Buffer.from(data, 'base64'), size };
  };
  const first = await read(0, CHUNK);
  const { size } = first;
  let { chunk } = first;
  let offset = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (offset > 0) ({ chunk } = await read(offset, CHUNK));
      // The helper is not trusted: more than the announced length would be read as the next answer.
      chunk = chunk.subarray(0, size - offset);
      if (chunk.length === 0) throw new Error('the file was truncated during its download');
      offset += chunk.length;
      controller.enqueue(chunk);
      if (offset >= size) controller.close();
    },
    async cancel() {
      await read(offset, 0).catch(() => undefined);
    },
  });
  const headers = { ...attachment(path.basename(file)), 'Content-Length': String(size) };
  return context.body(size === 0 ? '' : stream, 200, headers);
}

async function upload(context: Context, { sandbox }: WorkerContext, target: string): Promise<Response> {
  assertAbsolute(target);
  const body = await readBytesOf(context);
  const headers = { 'Content-Type': context.req.header('content-type') ?? '' };
  const form = await new Response(body, { headers }).formData().catch(() => null);
  const file = form?.get('file');
  if (!(file instanceof File)) {
    throw new HttpRefusal(422, [{ type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }]);
  }
  const token = randomUUID();
  for (let offset = 0, last = false; !last; offset += CHUNK) {
    const piece = Buffer.from(await file.slice(offset, offset + CHUNK).arrayBuffer());
    last = offset + CHUNK >= file.size;
    await sandbox.ask('write', { path: target, token, data: piece.toString('base64'), last });
  }
  return context.json({ success: true });
}
