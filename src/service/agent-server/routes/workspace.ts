import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Context } from 'hono';
import * as v from 'valibot';
import * as requests from '../../../protocol/agent-server/requests.ts';
import { missing, refuse, SUCCESS } from '../../http/answer.ts';
import { readFilePart } from '../../http/file-part.ts';
import { dictionary, fileChange, fileDiff, pageOf, refused, success } from '../../http/records.ts';
import { route, type Route, type RouteDeclaration } from '../../http/route.ts';
import type { AgentContext } from '../context.ts';
import { gitChanges, gitDelta, gitDiff } from '../git.ts';
import type { Sandbox } from '../../isolation/sandbox.ts';
import * as records from '../records.ts';
import { attachment } from './conversations.ts';

const CHUNK = 256 * 1024;
const BYTES = 'application/octet-stream';

const bashEvent = v.union([records.bashCommandEvent, records.bashOutputEvent]);
const INSIDE = refused(400, 404, 503);

export const workspaceRoutes: readonly Route<AgentContext>[] = [
  route('POST /api/bash/execute_bash_command', {
    callers: 'acs sandbox exec, local app server, typescript-client',
    body: requests.bashCommand,
    answers: { 200: records.bashOutputEvent, ...INSIDE },
    handle: ({ bash }, { body }) => bash.execute(body),
  }),
  route('POST /api/bash/start_bash_command', {
    callers: 'acs conv diff, acs sandbox cp, sdk, typescript-client',
    body: requests.bashCommand,
    answers: { 200: records.bashCommandEvent },
    handle: ({ bash }, { body }) => bash.start(body),
  }),
  route('GET /api/bash/bash_events/search', {
    callers: 'acs conv diff, acs sandbox cp, sdk, typescript-client',
    query: requests.bashEventSearch,
    answers: { 200: pageOf(bashEvent) },
    handle: ({ bash }, { query }) => bash.search(query),
  }),
  route('GET /api/bash/bash_events/{event_id}', {
    callers: 'typescript-client',
    answers: { 200: bashEvent, ...refused(404) },
    handle({ bash }, { path }) {
      const found = bash.get(path.event_id.replaceAll('-', ''));
      if (found === null) throw refuse(404, 'Event not found');
      return found;
    },
  }),
  ...routesOfPath('GET /api/git/changes', {
    callers: 'acs conv diff, sdk, typescript-client',
    query: requests.refQuery,
    answers: { 200: v.array(fileChange), ...INSIDE },
    handle: ({ sandbox }, { path: folder, ref = null }) => gitChanges(sandbox, folder, ref),
  }),
  ...routesOfPath('GET /api/git/diff', {
    callers: 'acs conv diff, sdk, typescript-client',
    query: requests.refQuery,
    answers: { 200: fileDiff, ...INSIDE },
    handle: ({ sandbox }, { path: file, ref = null }) => gitDiff(sandbox, file, ref),
  }),
  route('GET /api/file/archive', {
    callers: 'local app server',
    query: requests.archiveQuery,
    answers: { 200: 'text/x-patch', ...INSIDE },
    async handle({ sandbox }, { query: { path: folder, ref = null, format } }) {
      assertAbsolute(folder);
      if (format !== 'git-delta') throw refuse(400, 'The only format is git-delta');
      const headers = {
        ...attachment('changes.patch'),
        'Content-Type': 'text/x-patch; charset=utf-8',
      };
      return new Response(await gitDelta(sandbox, folder, ref), { headers });
    },
  }),
  ...routesOfPath('GET /api/file/download', {
    callers: 'local app server, acs sandbox cp, sdk, typescript-client',
    query: requests.pathQuery,
    answers: { 200: BYTES, ...INSIDE },
    handle: ({ sandbox }, { path: file }) => download(sandbox, file),
  }),
  ...routesOfPath('POST /api/file/upload', {
    callers: 'local app server, acs sandbox cp, sdk, typescript-client',
    query: requests.pathQuery,
    file: 'file',
    answers: { 200: success, ...INSIDE },
    handle: ({ sandbox }, { path: file }, c) => upload(c, sandbox, file),
  }),
  route('GET /api/file/home', {
    callers: 'typescript-client',
    answers: {
      200: v.object({
        home: v.string(),
        favorites: v.array(dictionary()),
        locations: v.array(dictionary()),
      }),
    },
    async handle({ sandbox }) {
      const { home } = await sandbox.folders();
      return { home, favorites: [], locations: [{ label: '/', path: '/' }] };
    },
  }),
];

/** Up to agent server 1.19 the path of a file is what follows the route. */
function routesOfPath(
  name: string,
  {
    query,
    handle,
    ...declaration
  }: Pick<RouteDeclaration, 'callers' | 'answers' | 'file'> & {
    query: typeof requests.pathQuery | typeof requests.refQuery;
    handle: (
      context: AgentContext,
      at: v.InferOutput<typeof requests.refQuery>,
      c: Context,
    ) => unknown;
  },
): Route<AgentContext>[] {
  return [
    route(name, {
      ...declaration,
      query,
      handle: (context, at) => handle(context, at.query, at.c),
    }),
    route(`${name}/{path:path}`, {
      ...declaration,
      callers: 'sdk 1.11.5',
      handle: (context, at) => handle(context, at.path, at.c),
    }),
  ];
}

function assertAbsolute(file: string): void {
  if (!path.isAbsolute(file)) throw refuse(400, 'Path must be absolute');
}

/** A file that is truncated during the download ends the connection: the status has been sent. */
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
      // A client would read bytes beyond the announced length as the next answer.
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

/** After a failure or a cut connection nothing of the file is left. */
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
