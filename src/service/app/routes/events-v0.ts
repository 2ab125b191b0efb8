/** Events of V0, and files in workspaces, read inside the sandbox (interface section 3). */
import * as v from 'valibot';
import * as v0 from '../../../protocol/v0/requests.ts';
import { HttpError, refuse } from '../../http/answer.ts';
import {
  errorMessage,
  fileChange,
  fileDiff,
  refusal,
  refused,
  success,
  texts,
  validationError,
} from '../../http/records.ts';
import { route, type Route } from '../../http/route.ts';
import {
  jsonOf,
  textOf,
  type AgentAnswer,
  type AgentRequest,
} from '../../sandboxes/agent-client.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { sandboxOf, sendTo, workspacePath } from '../conversations.ts';
import * as records from '../records.ts';
import { cut } from '../../../base/text/well-formed.ts';
import { findOwn } from './conversations-v0.ts';

const MAX_EVENTS = 100;

const LETTERS: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };

const RESPOND = 'events/respond_to_confirmation';
/** For each `agent_state`: the route of the agent server, and its body. */
const STATES = new Map<string, [route: string, json: object]>([
  ['paused', ['pause', {}]],
  ['stopped', ['interrupt', {}]],
  ['running', ['run', {}]],
  ['user_confirmed', [RESPOND, { accept: true, reason: 'Accepted by the user' }]],
  ['user_rejected', [RESPOND, { accept: false, reason: 'Rejected by the user' }]],
]);

/** The route of the agent server, and its body. */
type Act = (
  row: ConversationRow,
  args: v.InferOutput<typeof v0.eventPost>['args'],
  context: AppContext,
) => [path: string, json: object];

const ACTIONS = new Map<string, Act>(
  Object.entries({
    message({ id }, { content: text, image_urls: images }) {
      if (typeof text !== 'string') throw refuse(400, 'A message needs args.content');
      const all: unknown[] = Array.isArray(images) ? images : [];
      const image_urls = all.filter((url) => typeof url === 'string');
      const image = image_urls.length === 0 ? [] : [{ type: 'image', image_urls }];
      const content = [{ type: 'text', text }, ...image];
      return [`/api/conversations/${id}/events`, { role: 'user', content, run: true }];
    },
    run({ id }, { command }) {
      if (typeof command !== 'string') throw refuse(400, 'A run needs args.command');
      return [`/local/conversations/${id}/user_command`, { command }];
    },
    change_agent_state(row, { agent_state }, { logs }) {
      const state = String(agent_state);
      const [route, json] = STATES.get(state) ?? [];
      if (route === undefined || json === undefined)
        throw refuse(400, `agent_state cannot be set to '${cut(state, 50)}'`);
      if (route === RESPOND) {
        // The log may be ahead of the store. A genuine server accepts this in any state.
        const inLog = logs.read(row, (log) => log.read('state')?.execution_status);
        if ((inLog ?? row.execution_status) !== 'waiting_for_confirmation')
          throw refuse(409, 'No action waits for a confirmation');
      }
      return [`/api/conversations/${row.id}/${route}`, json];
    },
  } satisfies Record<string, Act>),
);

const ofAgent = v.union([refusal, v.object({ success: v.boolean(), error: v.string() })]);
const inWorkspace = v.union([refusal, errorMessage]);
const OF_CHANGES = { 400: inWorkspace, 404: inWorkspace, 502: errorMessage, 503: errorMessage };

export const eventRoutesV0: readonly Route<AppContext>[] = [
  route('GET /api/conversations/{conversation_id}/events', {
    callers: 'acs conv events, acs conv export, acs conv follow',
    query: v0.eventListQuery,
    answers: {
      200: v.object({ events: v.array(records.eventV0), has_more: v.boolean() }),
      ...refused(400, 404),
    },
    handle(context, { path, query: { limit, start_id, end_id, reverse } }) {
      if (limit < 0 || limit > MAX_EVENTS) throw refuse(400, 'Invalid limit');
      const range = context
        .readV0Events(rowOf(context, path.conversation_id))
        .slice(Math.max(0, start_id), end_id === undefined ? undefined : end_id + 1);
      if (reverse) range.reverse();
      return { events: range.slice(0, limit), has_more: range.length > limit };
    },
  }),
  route('POST /api/conversations/{conversation_id}/events', {
    callers: 'acs conv send, acs conv confirm, acs conv resume',
    body: v0.eventPost,
    answers: {
      200: success,
      400: ofAgent,
      404: ofAgent,
      409: ofAgent,
      422: v.union([validationError, ofAgent]),
      502: ofAgent,
      503: errorMessage,
      507: ofAgent,
    },
    async handle(context, { path, body }) {
      const row = runningRow(context, path.conversation_id, (id) => {
        const error = `Error adding message to conversation: no_conversation:${id}`;
        return new HttpError(409, { success: false, error });
      });
      const act = ACTIONS.get(body.action);
      if (act === undefined) {
        const taken = 'message, run and change_agent_state';
        const given = cut(body.action, 50);
        throw refuse(400, `The local service takes the actions ${taken}, not '${given}'`);
      }
      const [route, json] = act(row, body.args, context);
      const answer = await send(context, row, { method: 'POST', path: route, json });
      if (answer.status < 400) return { success: true };
      const isPassedOn = answer.status < 500 || answer.status === 507;
      const error = textOf(answer);
      throw new HttpError(isPassedOn ? answer.status : 502, { success: false, error });
    },
  }),
  route('GET /api/conversations/{conversation_id}/select-file', {
    callers: 'acs conv new',
    query: v0.selectFileQuery,
    answers: {
      200: v.object(texts('code')),
      ...refused(400),
      404: inWorkspace,
      415: errorMessage,
      503: errorMessage,
    },
    async handle(context, { path, query: { file } }) {
      const answer = await readFile(context, path.conversation_id, '/api/file/download', file);
      const named = cut(file, 300);
      if (answer.status !== 200)
        throw new HttpError(404, { error: `Error opening file: ${named}: ${textOf(answer)}` });
      if (answer.body.includes(0))
        throw new HttpError(415, { error: `Unable to open binary file: ${named}` });
      return { code: answer.body.toString('utf8') };
    },
  }),
  route('GET /api/conversations/{conversation_id}/git/changes', {
    callers: 'acs conv diff',
    answers: { 200: v.array(fileChange), ...OF_CHANGES },
    async handle(context, { path }) {
      const changes = (await readGit(context, path.conversation_id, '/api/git/changes', '.')) as
        { status: string; path: string }[] | null;
      return (changes ?? []).map(({ status, path: file }) => ({
        status: LETTERS[status] ?? 'M',
        path: file,
      }));
    },
  }),
  route('GET /api/conversations/{conversation_id}/git/diff', {
    callers: 'acs conv diff',
    query: v0.gitDiffQuery,
    answers: { 200: fileDiff, ...OF_CHANGES },
    handle: (context, { path, query }) =>
      readGit(context, path.conversation_id, '/api/git/diff', query.path),
  }),
];

function rowOf(context: AppContext, given: string): ConversationRow {
  const row = findOwn(context, given);
  if (row === null) throw refuse(404, `Conversation ${given} not found`);
  return row;
}

/** A conversation whose sandbox runs. `refusal`: the error for another one. */
function runningRow(
  context: AppContext,
  given: string,
  refusal: (id: string) => HttpError,
): ConversationRow {
  const row = rowOf(context, given);
  if (row.start_state !== 'ready' || sandboxOf(row, context).state !== 'RUNNING')
    throw refusal(row.id);
  return row;
}

function send(context: AppContext, row: ConversationRow, request: AgentRequest) {
  const refusal = (error: string) => new HttpError(503, { error });
  return sendTo(context, row.sandbox_id ?? '', request, refusal);
}

function readFile(
  context: AppContext,
  conversation: string,
  path: string,
  file: string,
): Promise<AgentAnswer> {
  const row = runningRow(context, conversation, (id) => {
    const error = `Runtime not available for conversation ${id}`;
    return new HttpError(404, { error });
  });
  return send(context, row, { method: 'GET', path, query: { path: workspacePath(row, file) } });
}

async function readGit(
  context: AppContext,
  conversation: string,
  path: string,
  file: string,
): Promise<unknown> {
  const answer = await readFile(context, conversation, path, file);
  if (answer.status === 200) return jsonOf(answer);
  throw new HttpError(answer.status < 500 ? answer.status : 502, { error: textOf(answer) });
}
