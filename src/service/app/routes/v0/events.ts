/** Events of V0 and what changes a run (interface section 3.4). */
import type { Context } from 'hono';
import { eventListQuery, eventPost, messagePost } from '../../../../protocol/v0/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { textOf } from '../../../sandboxes/agent-client.ts';
import { HttpAnswer, json, readJson, readQuery, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { createV0EventReader } from '../../v0-events/reader.ts';
import { knownConversation, reached } from './known.ts';
import type { Route } from '../../route.ts';

const MAX_LIMIT = 100;
const NO_FEEDBACK = 'Feedback goes nowhere from the local service: it sends nothing to anybody, and nothing was kept.';

export function eventRoutes(context: AppContext): Route[] {
  const reader = createV0EventReader(context.logs);
  const at = (path: string): string => `/api/conversations/{conversation_id}/${path}`;
  return [
    {
      method: 'GET',
      path: at('events'),
      handle: (c) => {
        const query = readQuery(c, eventListQuery);
        if (query.limit < 0 || query.limit > MAX_LIMIT) throw refuse(400, 'Invalid limit');
        const all = reader.read(knownConversation(context, c));
        const from = Math.max(0, query.start_id);
        const range = all.slice(from, query.end_id === undefined ? undefined : query.end_id + 1);
        const ordered = query.reverse ? range.reverse() : range;
        return json({ events: ordered.slice(0, query.limit), has_more: ordered.length > query.limit });
      },
    },
    {
      method: 'GET',
      path: at('trajectory'),
      handle: (c) => json({ trajectory: reader.read(knownConversation(context, c)) }),
    },
    {
      // A genuine server hands it on to a service of its makers. Kept here, it would look as if somebody read it.
      method: 'POST',
      path: at('submit-feedback'),
      handle: (c) => {
        knownConversation(context, c);
        throw new HttpAnswer(501, { error: NO_FEEDBACK });
      },
    },
    {
      method: 'POST',
      path: at('message'),
      handle: async (c) => {
        const { message } = await readJson(c, messagePost);
        return act(context, c, (row) => sendText(context, row, message, []));
      },
    },
    {
      method: 'POST',
      path: at('events'),
      handle: async (c) => {
        const { action, args } = await readJson(c, eventPost);
        if (action === 'message') {
          const images = Array.isArray(args.image_urls) ? args.image_urls.filter((url) => typeof url === 'string') : [];
          if (typeof args.content !== 'string') throw refuse(400, 'A message needs args.content');
          const { content } = args;
          return act(context, c, (row) => sendText(context, row, content, images));
        }
        if (action === 'change_agent_state')
          return act(context, c, (row) => changeState(context, row, String(args.agent_state)));
        if (action === 'run') {
          const { command } = args;
          if (typeof command !== 'string') throw refuse(400, 'A run needs args.command');
          return act(context, c, (row) => post(context, row, 'user_command', { command }));
        }
        throw refuse(
          400,
          `The local service takes the actions message, run and change_agent_state, not '${action.slice(0, 50)}'`,
        );
      },
    },
  ];
}

/** Does something to a conversation that runs; says in V0's words when it does not. */
async function act(context: AppContext, c: Context, work: (row: ConversationRow) => Promise<void>): Promise<Response> {
  const row = knownConversation(context, c);
  const sandbox = row.sandbox_id === null ? null : context.store.sandboxes.get(row.sandbox_id);
  if (sandbox?.status !== 'RUNNING' || row.start_state !== 'ready') {
    const error = `Error adding message to conversation: no_conversation:${row.id}`;
    throw new HttpAnswer(409, { success: false, error });
  }
  await work(row);
  return json({ success: true });
}

async function post(context: AppContext, row: ConversationRow, path: string, body: unknown): Promise<void> {
  const request = { method: 'POST' as const, path: `/api/conversations/${row.id}/${path}`, json: body };
  const answer = await reached(context.supervisor.send(row.sandbox_id ?? '', request));
  if (answer.status < 400) return;
  const isOurs = answer.status < 500 || answer.status === 507;
  throw new HttpAnswer(isOurs ? answer.status : 502, { success: false, error: textOf(answer) });
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
  // A genuine server obeys in any state and leaves a finished conversation hanging. The log is asked, because a client
  // may answer the event that it has just read there before the worker's notice has reached the store.
  const status = context.logs.read(row, (log) => log.readState()?.execution_status) ?? row.execution_status;
  if (status !== 'waiting_for_confirmation') throw refuse(409, 'No action waits for a confirmation');
  return post(context, row, 'events/respond_to_confirmation', {
    accept: state === 'user_confirmed',
    reason: state === 'user_confirmed' ? 'Accepted by the user' : 'Rejected by the user',
  });
}
