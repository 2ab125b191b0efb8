/** Files in the workspace of a conversation, over V0 (interface section 3.4). They are read inside the sandbox. */
import type { Context } from 'hono';
import { gitDiffQuery, selectFileQuery } from '../../../../protocol/v0/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { jsonOf, textOf, type AgentAnswer } from '../../../sandboxes/agent-client.ts';
import { HttpError, json } from '../../../http/answer.ts';
import { readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { workspacePath } from '../../workspace-path.ts';
import { reached, withRuntime } from './known.ts';

export function fileHandlersV0(context: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/conversations/{conversation_id}/select-file': (c) => selectFile(context, c),
    'GET /api/conversations/{conversation_id}/git/changes': async (c) => json(await gitChanges(context, c)),
    'GET /api/conversations/{conversation_id}/git/diff': async (c) => {
      const { path: given } = readQuery(c, gitDiffQuery);
      const { row } = withRuntime(context, c);
      return json(await asked(context, row, '/api/git/diff', { path: workspacePath(row, given) }));
    },
  };
}

function ask(
  context: AppContext,
  row: ConversationRow,
  route: string,
  query: Record<string, string>,
): Promise<AgentAnswer> {
  return reached(context.supervisor.send(row.sandbox_id ?? '', { method: 'GET', path: route, query }));
}

async function asked(
  context: AppContext,
  row: ConversationRow,
  route: string,
  query: Record<string, string>,
): Promise<unknown> {
  const answer = await ask(context, row, route, query);
  if (answer.status === 200) return jsonOf(answer);
  throw new HttpError(answer.status < 500 ? answer.status : 502, { error: textOf(answer) });
}

const LETTERS: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };

async function gitChanges(context: AppContext, c: Context): Promise<unknown> {
  const { row } = withRuntime(context, c);
  const changes = (await asked(context, row, '/api/git/changes', { path: workspacePath(row, '.') })) as
    { status: string; path: string }[] | null;
  return (changes ?? []).map((change) => ({ status: LETTERS[change.status] ?? 'M', path: change.path }));
}

async function selectFile(context: AppContext, c: Context): Promise<Response> {
  const { file } = readQuery(c, selectFileQuery);
  const { row } = withRuntime(context, c);
  const answer = await ask(context, row, '/api/file/download', { path: workspacePath(row, file) });
  if (answer.status !== 200) {
    throw new HttpError(404, { error: `Error opening file: ${file.slice(0, 300)}: ${textOf(answer)}` });
  }
  if (answer.body.includes(0)) throw new HttpError(415, { error: `Unable to open binary file: ${file.slice(0, 300)}` });
  return json({ code: answer.body.toString('utf8') });
}
