/** Commands of the client, files and git in the sandbox. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Context } from 'hono';
import { bashCommand, bashEventSearch, pathQuery } from '../../../protocol/agent-server/requests.ts';
import { json, missing, refuse, SUCCESS } from '../../http/answer.ts';
import { readFilePart } from '../../http/file-part.ts';
import { readJson, readQuery } from '../../http/request.ts';
import type { Handler, Handlers } from '../../http/router.ts';
import { IsolationError } from '../../isolation/connection.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { WorkerContext } from '../context.ts';
import { trajectoryArchive } from '../views.ts';
import { entryOf } from './conversations.ts';

const CHUNK = 256 * 1024;

interface Target {
  path: string;
  ref: string | null;
}

/** The path in the query, or, as up to agent server 1.19, in what follows the route. */
const inQuery = (c: Context): Target => {
  const { path: file, ref = null } = readQuery(c, pathQuery);
  return { path: file, ref };
};
const inPath = (c: Context): Target => ({ path: c.req.param('path') ?? '', ref: null });

export function sandboxHandlers(worker: WorkerContext): Handlers<AgentRoute> {
  const { bash } = worker;
  return {
    'POST /api/bash/execute_bash_command': async (c) => json(await bash.execute(await readJson(c, bashCommand))),
    'POST /api/bash/start_bash_command': async (c) => json(bash.start(await readJson(c, bashCommand))),
    'GET /api/bash/bash_events/search': (c) => json(bash.search(readQuery(c, bashEventSearch))),
    'GET /api/bash/bash_events/{event_id}': (c) => {
      const id = (c.req.param('event_id') ?? '').replaceAll('-', '');
      const found = bash.events.find((event) => event.id === id);
      if (found === undefined) throw refuse(404, 'Event not found');
      return json(found);
    },
    ...gitHandlers(worker),
    ...fileHandlers(worker),
  };
}

function gitHandlers({ sandbox }: WorkerContext): Handlers<AgentRoute> {
  const changes =
    (target: (c: Context) => Target): Handler =>
    async (c) =>
      json((await sandbox.ask('git_changes', target(c))).changes);
  const diff =
    (target: (c: Context) => Target): Handler =>
    async (c) => {
      try {
        const { modified, original } = await sandbox.ask('git_diff', target(c));
        return json({ modified, original });
      } catch (error) {
        // Genuine servers answer 400 here, not 404.
        if (error instanceof IsolationError && error.code === 'not-found') throw refuse(400, error.message);
        throw error;
      }
    };
  return {
    'GET /api/git/changes': changes(inQuery),
    'GET /api/git/changes/{path:path}': changes(inPath),
    'GET /api/git/diff': diff(inQuery),
    'GET /api/git/diff/{path:path}': diff(inPath),
  };
}

function fileHandlers(worker: WorkerContext): Handlers<AgentRoute> {
  return {
    'GET /api/file/download': (c) => download(worker, inQuery(c).path),
    'GET /api/file/download/{path:path}': (c) => download(worker, inPath(c).path),
    'POST /api/file/upload': (c) => upload(c, worker, inQuery(c).path),
    'POST /api/file/upload/{path:path}': (c) => upload(c, worker, inPath(c).path),
    'GET /api/file/home': async () => {
      const { home } = await worker.sandbox.ask('home', {});
      return json({ home, favorites: [], locations: [{ label: '/', path: '/' }] });
    },
    'GET /api/file/download-trajectory/{conversation_id}': async (c) => {
      const entry = entryOf(c, worker.conversations);
      return new Response(await trajectoryArchive(entry), { headers: attachment(`${entry.conversation.id}.zip`) });
    },
    'GET /api/file/archive': async (c) => {
      const { path: folder, ref, format = 'git-delta' } = readQuery(c, pathQuery);
      assertAbsolute(folder);
      if (format !== 'git-delta') throw refuse(400, 'The only format is git-delta');
      const { patch } = await worker.sandbox.ask('git_delta', { path: folder, ref: ref ?? null });
      const headers = { ...attachment('changes.patch'), 'Content-Type': 'text/x-patch; charset=utf-8' };
      return new Response(patch, { headers });
    },
  };
}

function assertAbsolute(file: string): void {
  if (!path.isAbsolute(file)) throw refuse(400, 'Path must be absolute');
}

function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`,
  };
}

/**
 * Sends a file in chunks as the client reads them, with its length in the headers. A file that is truncated meanwhile
 * ends the connection, because the status has been sent.
 */
async function download({ sandbox }: WorkerContext, file: string): Promise<Response> {
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
      // The helper is not trusted: a client would read bytes beyond the announced length as the next answer.
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
  return new Response(size === 0 ? '' : stream, { headers });
}

/** Writes a file while it is received; after a failure or a cut connection nothing of it is left. */
async function upload(c: Context, { sandbox }: WorkerContext, target: string): Promise<Response> {
  assertAbsolute(target);
  const token = randomUUID();
  const write = async (data: string, then: 'more' | 'done' | 'abandoned'): Promise<void> => {
    await sandbox.ask('write', { path: target, token, data, then });
  };
  try {
    const isThere = await readFilePart(c, 'file', CHUNK, (piece) => write(piece.toString('base64'), 'more'));
    if (!isThere) throw missing('body', 'file');
    await write('', 'done');
  } catch (error) {
    await write('', 'abandoned').catch(() => undefined);
    throw error;
  }
  return json(SUCCESS);
}
