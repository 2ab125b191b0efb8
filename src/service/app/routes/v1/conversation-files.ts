/** A file of the workspace of a conversation, and its events as an archive (interface section 4.5). */
import type { Context } from 'hono';
import { toDashedId } from '../../../../protocol/detail.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { json, refuse } from '../../../http/answer.ts';
import { pathId } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { conversationRecord } from '../../conversation-record.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';
import type { ZipMember } from '../../../../archive/zip.ts';
import { workspacePath } from '../../workspace-path.ts';
import { findConversation } from './known.ts';

export function conversationFileHandlers(context: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/v1/app-conversations/{conversation_id}/file': async (c) => json(await fileText(context, c)),
    'GET /api/v1/app-conversations/{conversation_id}/download': (c) => download(context, c),
  };
}

/** Empty for any problem, as on genuine servers. */
async function fileText(context: AppContext, c: Context): Promise<string> {
  const row = findConversation(context, pathId(c));
  if (row?.sandbox_id == null) return '';
  const path = workspacePath(row, c.req.query('file_path') ?? 'PLAN.md');
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

async function download(context: AppContext, c: Context): Promise<Response> {
  const id = pathId(c);
  const row = findConversation(context, id);
  if (row === null) throw refuse(404, `Conversation not found: ${toDashedId(id)}`);
  const { zipStream } = await import('../../../../archive/zip.ts');
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
    // The log is looked up for each page: it may have been closed since the page before.
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
