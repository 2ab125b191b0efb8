import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Context } from 'hono';
import { bashCommand, bashEventSearch, pathQuery } from '../../../protocol/agent-server/requests.ts';
import { json, missing, refuse, SUCCESS } from '../../http/answer.ts';
import { readFilePart } from '../../http/file-part.ts';
import { readJson, readQuery } from '../../http/request.ts';
import type { Handlers } from '../../http/router.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { WorkerContext } from '../context.ts';
import { gitChanges, gitDelta, gitDiff } from '../git.ts';
import type { Sandbox } from '../sandbox.ts';
import { attachment } from './conversations.ts';

const CHUNK = 256 * 1024;

/** The path in the query, or, as up to agent server 1.19, in what follows the route. */
const inQuery = (c: Context): [path: string, ref: string | null] => {
  const { path: file, ref = null } = readQuery(c, pathQuery);
  return [file, ref];
};
const inPath = (c: Context): [path: string, ref: null] => [c.req.param('path') ?? '', null];

export function workspaceHandlers({ bash, sandbox }: WorkerContext): Handlers<AgentRoute> {
  return {
    'POST /api/bash/execute_bash_command': async (c) => json(await bash.execute(await readJson(c, bashCommand))),
    'POST /api/bash/start_bash_command': async (c) => json(bash.start(await readJson(c, bashCommand))),
    'GET /api/bash/bash_events/search': (c) => json(bash.search(readQuery(c, bashEventSearch))),
    'GET /api/bash/bash_events/{event_id}': (c) => {
      const found = bash.get((c.req.param('event_id') ?? '').replaceAll('-', ''));
      if (found === null) throw refuse(404, 'Event not found');
      return json(found);
    },
    'GET /api/git/changes': async (c) => json(await gitChanges(sandbox, ...inQuery(c))),
    'GET /api/git/changes/{path:path}': async (c) => json(await gitChanges(sandbox, ...inPath(c))),
    'GET /api/git/diff': async (c) => json(await gitDiff(sandbox, ...inQuery(c))),
    'GET /api/git/diff/{path:path}': async (c) => json(await gitDiff(sandbox, ...inPath(c))),
    'GET /api/file/archive': async (c) => {
      const { path: folder, ref = null, format = 'git-delta' } = readQuery(c, pathQuery);
      assertAbsolute(folder);
      if (format !== 'git-delta') throw refuse(400, 'The only format is git-delta');
      const headers = { ...attachment('changes.patch'), 'Content-Type': 'text/x-patch; charset=utf-8' };
      return new Response(await gitDelta(sandbox, folder, ref), { headers });
    },
    'GET /api/file/download': (c) => download(sandbox, inQuery(c)[0]),
    'GET /api/file/download/{path:path}': (c) => download(sandbox, inPath(c)[0]),
    'POST /api/file/upload': (c) => upload(c, sandbox, inQuery(c)[0]),
    'POST /api/file/upload/{path:path}': (c) => upload(c, sandbox, inPath(c)[0]),
    'GET /api/file/home': async () => {
      const { home } = await sandbox.folders();
      return json({ home, favorites: [], locations: [{ label: '/', path: '/' }] });
    },
  };
}

function assertAbsolute(file: string): void {
  if (!path.isAbsolute(file)) throw refuse(400, 'Path must be absolute');
}

/** A file that is truncated during the download ends the connection, because the status has been sent. */
async function download(sandbox: Sandbox, file: string): Promise<Response> {
  assertAbsolute(file);
  const token = randomUUID();
  const read = (offset: number, length: number) => sandbox.readChunk({ path: file, token, offset, length });
  const first = await read(0, CHUNK);
  const { size } = first;
  let chunk = first.data;
  let offset = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (offset > 0) chunk = (await read(offset, CHUNK)).data;
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
async function upload(c: Context, sandbox: Sandbox, target: string): Promise<Response> {
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
