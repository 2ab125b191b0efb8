import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Context } from 'hono';
import * as requests from '../../../protocol/agent-server/requests.ts';
import { missing, refuse, SUCCESS } from '../../http/answer.ts';
import { readFilePart } from '../../http/file-part.ts';
import { body, query, type Handler, type Handlers } from '../../http/route.ts';
import type { AgentRoute } from '../../http/served-routes.ts';
import type { WorkerContext } from '../context.ts';
import { gitChanges, gitDelta, gitDiff } from '../git.ts';
import type { Sandbox } from '../../isolation/sandbox.ts';
import { attachment } from './conversations.ts';

const CHUNK = 256 * 1024;

/** A handler that reads the file of a multipart body. */
const filePart = (handle: Handler): Handler =>
  Object.assign((c: Context) => handle(c), { takes: { ...handle.takes, file: 'file' } });

/** Up to agent server 1.19 the path is what follows the route. */
const inPath = (c: Context): string => c.req.param('path') ?? '';

export function workspaceHandlers({ bash, sandbox }: WorkerContext): Handlers<AgentRoute> {
  const save = (c: Context, target: string) => upload(c, sandbox, target);
  return {
    'POST /api/bash/execute_bash_command': body(requests.bashCommand, (given) =>
      bash.execute(given),
    ),
    'POST /api/bash/start_bash_command': body(requests.bashCommand, (given) => bash.start(given)),
    'GET /api/bash/bash_events/search': query(requests.bashEventSearch, (given) =>
      bash.search(given),
    ),
    'GET /api/bash/bash_events/{event_id}': (c) => {
      const found = bash.get((c.req.param('event_id') ?? '').replaceAll('-', ''));
      if (found === null) throw refuse(404, 'Event not found');
      return found;
    },
    'GET /api/git/changes': query(requests.refQuery, ({ path: folder, ref = null }) =>
      gitChanges(sandbox, folder, ref),
    ),
    'GET /api/git/changes/{path:path}': (c) => gitChanges(sandbox, inPath(c), null),
    'GET /api/git/diff': query(requests.refQuery, ({ path: file, ref = null }) =>
      gitDiff(sandbox, file, ref),
    ),
    'GET /api/git/diff/{path:path}': (c) => gitDiff(sandbox, inPath(c), null),
    'GET /api/file/archive': query(
      requests.archiveQuery,
      async ({ path: folder, ref = null, format }) => {
        assertAbsolute(folder);
        if (format !== 'git-delta') throw refuse(400, 'The only format is git-delta');
        const headers = {
          ...attachment('changes.patch'),
          'Content-Type': 'text/x-patch; charset=utf-8',
        };
        return new Response(await gitDelta(sandbox, folder, ref), { headers });
      },
    ),
    'GET /api/file/download': query(requests.pathQuery, (given) => download(sandbox, given.path)),
    'GET /api/file/download/{path:path}': (c) => download(sandbox, inPath(c)),
    'POST /api/file/upload': filePart(query(requests.pathQuery, (given, c) => save(c, given.path))),
    'POST /api/file/upload/{path:path}': filePart((c) => save(c, inPath(c))),
    'GET /api/file/home': async () => {
      const { home } = await sandbox.folders();
      return { home, favorites: [], locations: [{ label: '/', path: '/' }] };
    },
  };
}

function assertAbsolute(file: string): void {
  if (!path.isAbsolute(file)) throw refuse(400, 'Path must be absolute');
}

/**
 * A file that is truncated during the download ends the connection, because the status has been
 * sent.
 */
async function download(sandbox: Sandbox, file: string): Promise<Response> {
  assertAbsolute(file);
  const token = randomUUID();
  const read = (offset: number, length: number) =>
    sandbox.readChunk({ path: file, token, offset, length });
  const first = await read(0, CHUNK);
  const { size } = first;
  let chunk = first.data;
  let offset = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (offset > 0) chunk = (await read(offset, CHUNK)).data;
      // The helper is not trusted: a client would read bytes beyond the announced length as the
      // next answer.
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

/**
 * Writes a file while it is received; after a failure or a cut connection nothing of it is left.
 */
async function upload(c: Context, sandbox: Sandbox, target: string): Promise<typeof SUCCESS> {
  assertAbsolute(target);
  const token = randomUUID();
  const write = async (data: string, then: 'more' | 'done' | 'abandoned'): Promise<void> => {
    await sandbox.ask('write', { path: target, token, data, then });
  };
  try {
    const isThere = await readFilePart(c, 'file', CHUNK, (piece) =>
      write(piece.toString('base64'), 'more'),
    );
    if (!isThere) throw missing('body', 'file');
    await write('', 'done');
  } catch (error) {
    await write('', 'abandoned').catch(() => undefined);
    throw error;
  }
  return SUCCESS;
}
