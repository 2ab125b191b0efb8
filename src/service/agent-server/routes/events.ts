import * as requests from '../../../protocol/agent-server/requests.ts';
import { refuse } from '../../http/answer.ts';
import { event, integer, pageOf, refused } from '../../http/records.ts';
import { route, type Route } from '../../http/route.ts';
import type { EventFilter } from '../../storage/event-log.ts';
import type { AgentContext } from '../context.ts';
import { BY_ID, change, entryOf } from './conversations.ts';

export const eventRoutes: readonly Route<AgentContext>[] = [
  route('GET /api/conversations/{conversation_id}/events/search', {
    callers: 'acs conv follow, sdk, typescript-client',
    parts: BY_ID,
    query: requests.eventSearch,
    answers: { 200: pageOf(event), ...refused(404) },
    handle(worker, { path, query }) {
      const { shown: log } = entryOf(worker, path).conversation;
      const page = log.search({
        ...filterOf(query),
        fromId: query.page_id,
        limit: query.limit,
        order: query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc',
      });
      return { items: page.items, next_page_id: page.next?.id ?? null };
    },
  }),
  route('GET /api/conversations/{conversation_id}/events/count', {
    callers: 'typescript-client',
    parts: BY_ID,
    query: requests.eventSearch,
    answers: { 200: integer(), ...refused(404) },
    handle: (worker, { path, query }) =>
      entryOf(worker, path).conversation.log.count(filterOf(query)),
  }),
  route('GET /api/conversations/{conversation_id}/events/{event_id}', {
    callers: 'typescript-client',
    parts: BY_ID,
    answers: { 200: event, ...refused(404) },
    handle(worker, { path }) {
      const [found] = entryOf(worker, path).conversation.shown.get([path.event_id]);
      if (!found) throw refuse(404, 'Event not found');
      return found;
    },
  }),
  change('POST /api/conversations/{conversation_id}/events', {
    callers: 'acs conv send, sdk, typescript-client',
    body: requests.sendMessage,
    refuses: [409],
    effect: ({ conversation, loop }, { role, content, run }) => {
      // A later run would process a stored message without the user's knowledge.
      if (run) loop.assertNotWaiting();
      conversation.addMessage(role, content);
      if (run) loop.startOrJoin();
    },
    isNamed: true,
  }),
  change('POST /api/conversations/{conversation_id}/events/respond_to_confirmation', {
    callers: 'acs conv confirm, sdk, typescript-client',
    body: requests.respondToConfirmation,
    refuses: [409],
    effect: ({ loop }, { accept, reason }) => loop.respond(accept, reason),
    isNamed: true,
  }),
];

/** The kinds of each module of genuine servers, whose searches take the class path of a kind. */
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

function filterOf({ kind: at, source, body, ...times }: requests.EventSearch): EventFilter {
  const [, module = '', name = ''] =
    /^openhands\.sdk\.event\.([\w.]+)\.(\w+)$/.exec(at ?? '') ?? [];
  // The empty kind finds no event.
  const kind = MODULES[module]?.includes(name) === true ? name : '';
  return {
    kind: at === undefined ? undefined : kind,
    source,
    body,
    gte: times.timestamp__gte?.slice(0, -1),
    lt: times.timestamp__lt?.slice(0, -1),
  };
}
