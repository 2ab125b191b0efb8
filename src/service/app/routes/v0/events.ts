/** Events of V0 and what changes a run (interface section 3.4). */
import type { Context } from 'hono';
import { eventListQuery, eventPost } from '../../../../protocol/v0/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { textOf } from '../../../sandboxes/agent-client.ts';
import { HttpError, json, refuse } from '../../../http/answer.ts';
import { readJson, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { createV0EventReader } from '../../v0-events/reader.ts';
import { knownConversation, reached } from './known.ts';

const MAX_LIMIT = 100;

export function eventHandlersV0(context: AppContext): Handlers<AppRoute> {
  const reader = createV0EventReader(context.logs);
  return {
    'GET /api/conversations/{conversation_id}/events': (c) => {
      const query = readQuery(c, eventListQuery);
      if (query.limit < 0 || query.limit > MAX_LIMIT) throw refuse(400, 'Invalid limit');
      const all = reader.read(knownConversation(context, c));
      const from = Math.max(0, query.start_id);
      const range = all.slice(from, query.end_id === undefined ? undefined : query.end_id + 1);
      const ordered = query.reverse ? range.reverse() : range;
      return json({ events: ordered.slice(0, query.limit), has_more: ordered.length > query.limit });
    },
    'POST /api/conversations/{conversation_id}/events': async (c) => {
      const { action, args } = await readJson(c, eventPost);
      return act(context, c, (row) => perform(context, row, action, args));
    },
  };
}

function perform(
  context: AppContext,
  row: ConversationRow,
  action: string,
  args: Record<string, unknown>,
): Promise<void> {
  switch (action) {
    case 'message': {
      const images = Array.isArray(args.image_urls) ? args.image_urls.filter((url) => typeof url === 'string') : [];
      if (typeof args.content !== 'string') throw refuse(400, 'A message needs args.content');
      return sendText(context, row, args.content, images);
    }
    case 'change_agent_state':
      return changeState(context, row, String(args.agent_state));
    case 'run':
      if (typeof args.command !== 'string') throw refuse(400, 'A run needs args.command');
      return sendTo(context, row, `/local/conversations/${row.id}/user_command`, { command: args.command });
    default:
      throw refuse(
        400,
        `The local service takes the actions message, run and change_agent_state, not '${action.slice(0, 50)}'`,
      );
  }
}

/** Applies a change to a conversation whose sandbox runs; 409 in the form of V0 otherwise. */
async function act(context: AppContext, c: Context, work: (row: ConversationRow) => Promise<void>): Promise<Response> {
  const row = knownConversation(context, c);
  const sandbox = row.sandbox_id === null ? null : context.store.sandboxes.get(row.sandbox_id);
  if (sandbox?.status !== 'RUNNING' || row.start_state !== 'ready') {
    const error = `Error adding message to conversation: no_conversation:${row.id}`;
    throw new HttpError(409, { success: false, error });
  }
  await work(row);
  return json({ success: true });
}

function post(context: AppContext, row: ConversationRow, path: string, body: unknown): Promise<void> {
  return sendTo(context, row, `/api/conversations/${row.id}/${path}`, body);
}

async function sendTo(context: AppContext, row: ConversationRow, path: string, body: unknown): Promise<void> {
  const request = { method: 'POST' as const, path, json: body };
  const answer = await reached(context.supervisor.send(row.sandbox_id ?? '', request));
  if (answer.status < 400) return;
  const isPassedOn = answer.status < 500 || answer.status === 507;
  throw new HttpError(isPassedOn ? answer.status : 502, { success: false, error: textOf(answer) });
}

function sendText(context: AppContext, row: ConversationRow, text: string, images: string[]): Promise<void> {
  const blocks = [{ type: 'text', text }, ...(images.length === 0 ? [] : [{ type: 'image', image_urls: images }])];
  return post(context, row, 'events', { role: 'user', content: blocks, run: true });
}

async function changeState(context: AppContext, row: ConversationRow, state: string): Promise<void> {
  if (state === 'paused' || state === 'stopped')
    return post(context, row, state === 'paused' ? 'pause' : 'interrupt', {});
  if (state === 'running') return post(context, row, 'run', {});
  if (state !== 'user_confirmed' && state !== 'user_rejected') {
    throw refuse(400, `agent_state cannot be set to '${state.slice(0, 50)}'`);
  }
  // A genuine server accepts this in any state, and a finished conversation stays in that state. The status is read from
  // the log: a client may answer an event that is in the log before the notice of the worker is in the store.
  const status = context.logs.read(row, (log) => log.readState()?.execution_status) ?? row.execution_status;
  if (status !== 'waiting_for_confirmation') throw refuse(409, 'No action waits for a confirmation');
  return post(context, row, 'events/respond_to_confirmation', {
    accept: state === 'user_confirmed',
    reason: state === 'user_confirmed' ? 'Accepted by the user' : 'Rejected by the user',
  });
}
