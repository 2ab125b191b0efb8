/** Events of a conversation: search, read, send a message, answer a confirmation. */
import type { Context } from 'hono';
import {
  eventSearch,
  type EventSearch,
  respondToConfirmation,
  sendMessage,
} from '../../../protocol/agent-server/requests.ts';
import { json, refuse, SUCCESS } from '../../http/answer.ts';
import { pathId, readJson, readQuery } from '../../http/request.ts';
import type { Handlers } from '../../http/router.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { EventFilter } from '../../storage/event-log.ts';
import type { WorkerContext } from '../context.ts';
import type { ConversationEntry, Conversations } from '../conversations.ts';
import { entryOf } from './conversations.ts';

export function eventHandlers({ conversations }: WorkerContext): Handlers<AgentRoute> {
  return {
    'GET /api/conversations/{conversation_id}/events/search': (c) => {
      const { conversation } = entryOf(c, conversations);
      const query = readQuery(c, eventSearch);
      const page = conversation.log.search({
        ...filterOf(query),
        fromId: query.page_id,
        limit: query.limit,
        order: query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc',
      });
      return json({ items: page.items, next_page_id: page.next?.id ?? null });
    },
    'GET /api/conversations/{conversation_id}/events/count': (c) => {
      const { conversation } = entryOf(c, conversations);
      return json(conversation.log.count(filterOf(readQuery(c, eventSearch))));
    },
    'GET /api/conversations/{conversation_id}/events/{event_id}': (c) => {
      const { conversation } = entryOf(c, conversations);
      const [event] = conversation.log.get([c.req.param('event_id') ?? '']);
      if (!event) throw refuse(404, 'Event not found');
      return json(event);
    },
    'POST /api/conversations/{conversation_id}/events': async (c) => {
      const entry = namedEntry(c, conversations);
      const { role, content, run } = await readJson(c, sendMessage);
      // Before the message is stored: a later run would process it without the user's knowledge.
      if (run) entry.loop.assertNotWaiting();
      entry.conversation.addMessage(role, content);
      if (run) entry.loop.startOrJoin();
      return json(SUCCESS);
    },
    'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': async (c) => {
      const entry = namedEntry(c, conversations);
      const { accept, reason } = await readJson(c, respondToConfirmation);
      await entry.loop.respond(accept, reason);
      return json(SUCCESS);
    },
  };
}

/** As `entryOf`, for the two routes whose 404 names the conversation. */
function namedEntry(c: Context, conversations: Conversations): ConversationEntry {
  const entry = conversations.get(pathId(c));
  if (entry === null) throw refuse(404, `Conversation not found: ${c.req.param('conversation_id') ?? ''}`);
  return entry;
}

/** Times in the naive form of the log. */
function filterOf(query: EventSearch): EventFilter {
  return {
    kind: query.kind === undefined ? undefined : kindAtPath(query.kind),
    source: query.source,
    body: query.body,
    gte: query.timestamp__gte?.slice(0, -1),
    lt: query.timestamp__lt?.slice(0, -1),
  };
}

/**
 * The module of each event kind at a genuine agent server, whose searches take the class path of a kind and not its name.
 */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  acp_tool_call: ['ACPToolCallEvent'],
  condenser: ['Condensation', 'CondensationRequest', 'CondensationSummaryEvent'],
  conversation_error: ['ConversationErrorEvent'],
  conversation_state: ['ConversationStateUpdateEvent'],
  hook_execution: ['HookExecutionEvent'],
  llm_completion_log: ['LLMCompletionLogEvent'],
  'llm_convertible.action': ['ActionEvent'],
  'llm_convertible.message': ['MessageEvent'],
  'llm_convertible.observation': ['AgentErrorEvent', 'ObservationEvent', 'UserRejectObservation'],
  'llm_convertible.system': ['SystemPromptEvent'],
  token: ['TokenEvent'],
  user_action: ['InterruptEvent', 'PauseEvent'],
};

/** The kind at a path such as `openhands.sdk.event.user_action.PauseEvent`; empty, which is no kind, where there is none. */
function kindAtPath(path: string): string {
  const [, module = '', kind = ''] = /^openhands\.sdk\.event\.([\w.]+)\.(\w+)$/.exec(path) ?? [];
  return MODULES[module]?.includes(kind) === true ? kind : '';
}
