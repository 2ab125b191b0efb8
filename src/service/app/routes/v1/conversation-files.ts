/** What lies in a conversation's workspace, and its events as a file (interface section 4.5). */
import type { Context } from 'hono';
import { toDashedId } from '../../../../protocol/detail.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { jsonOf, textOf } from '../../../sandboxes/agent-client.ts';
import { json, pathId, refuse, HttpAnswer, refuseDetail } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { conversationRecord } from '../../conversation-record.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';
import { zipStream, type ZipMember } from '../../../http/zip-stream.ts';
import { placeIn } from '../../workspace-path.ts';
import { findConversation } from './known.ts';
import type { Route } from '../../route.ts';

export function conversationFileRoutes(context: AppContext): Route[] {
  const at = (path: string): string => `/api/v1/app-conversations/{conversation_id}${path}`;
  return [
    { method: 'GET', path: at('/file'), handle: async (c) => json(await fileText(context, c)) },
    { method: 'GET', path: at('/git/changes'), handle: (c) => git(context, c, '/api/git/changes') },
    { method: 'GET', path: at('/git/diff'), handle: (c) => git(context, c, '/api/git/diff') },
    // The local service gives its agent neither skills nor hooks.
    { method: 'GET', path: at('/skills'), handle: (c) => json({ skills: emptyFor(context, c) }) },
    { method: 'GET', path: at('/hooks'), handle: (c) => json({ hooks: emptyFor(context, c) }) },
    { method: 'GET', path: at('/download'), handle: (c) => download(context, c) },
  ];
}

/** Empty for any problem, as on genuine servers. */
async function fileText(context: AppContext, c: Context): Promise<string> {
  const row = findConversation(context, pathId(c));
  if (row?.sandbox_id == null) return '';
  const path = placeIn(row, c.req.query('file_path') ?? 'PLAN.md');
  try {
    const answer = await context.supervisor.send(row.sandbox_id, {
      method: 'GET',
      path: '/api/file/download',
      query: { path },
    });
    return answer.status === 200 ? answer.body.toString('utf8') : '';
  } catch (error) {
    if (error instanceof SandboxUnavailable) return '';
    throw error;
  }
}

async function git(context: AppContext, c: Context, route: string): Promise<Response> {
  const id = pathId(c);
  const given = c.req.query('path');
  if (given === undefined) {
    throw refuseDetail([{ type: 'missing', loc: ['query', 'path'], msg: 'Field required', input: null }]);
  }
  const row = findConversation(context, id);
  const sandbox = row?.sandbox_id == null ? null : context.store.sandboxes.get(row.sandbox_id);
  if (row === null || sandbox === null) throw refuse(404, `Conversation ${toDashedId(id)} is not reachable`);
  if (sandbox.status === 'PAUSED') throw refuse(409, 'Sandbox is paused; resume it before reading git state.');
  const ref = c.req.query('ref');
  const query = { path: placeIn(row, given), ...(ref === undefined ? {} : { ref }) };
  try {
    const answer = await context.supervisor.send(sandbox.id, { method: 'GET', path: route, query });
    if (answer.status === 200) return json(jsonOf(answer));
    throw refuse(answer.status < 500 ? answer.status : 502, textOf(answer));
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw refuse(502, error.message);
    throw error;
  }
}

function emptyFor(context: AppContext, c: Context): never[] {
  const id = pathId(c);
  const row = findConversation(context, id);
  if (row === null) throw new HttpAnswer(404, { error: `Conversation ${toDashedId(id)} not found` });
  if (row.sandbox_id === null || context.store.sandboxes.get(row.sandbox_id) === null) {
    throw new HttpAnswer(404, { error: `Sandbox not found for conversation ${toDashedId(id)}` });
  }
  return [];
}

function download(context: AppContext, c: Context): Response {
  const id = pathId(c);
  const row = findConversation(context, id);
  if (row === null) throw refuse(404, `Conversation not found: ${toDashedId(id)}`);
  return new Response(zipStream(membersOf(context, row)), {
    headers: {
      'Content-Type': 'application/zip',
      'Content-Disposition': `attachment; filename="conversation_${id}.zip"`,
    },
  });
}

const PAGE = 500;

/** `meta.json` and one file for each event, named so that they sort in order. */
function* membersOf(context: AppContext, row: ConversationRow): Generator<ZipMember> {
  const { session_api_key: _key, ...meta } = conversationRecord(row, context) as Record<string, unknown>;
  yield ['meta.json', readable(meta)];
  for (let offset = 0; ; offset += PAGE) {
    // The log is asked for anew each time: it may have been put away while a page was sent.
    const page = context.logs.read(row, (log) => log.search({ offset, limit: PAGE, order: 'asc' }));
    for (const [index, event] of page?.items.entries() ?? []) {
      const number = String(offset + index).padStart(6, '0');
      yield [`event_${number}_${event.id}.json`, readable(event)];
    }
    if (page?.next == null) return;
  }
}

function readable(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value, null, 2));
}
