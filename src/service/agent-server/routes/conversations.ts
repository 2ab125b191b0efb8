import type { Context } from 'hono';
import { randomUUID } from 'node:crypto';
import {
  askAgent,
  conversationCount,
  conversationIds,
  conversationSearch,
  eventSearch,
  type EventSearch,
  forkConversation,
  respondToConfirmation,
  sendMessage,
  setConfirmationPolicy,
  setSecrets,
  setSecurityAnalyzer,
  startConversation,
  switchLlm,
  updateConversation,
  userCommand,
} from '../../../protocol/agent-server/requests.ts';
import { toDashedId, toHexId } from '../../../protocol/detail.ts';
import { json, refuse, SUCCESS } from '../../http/answer.ts';
import { cursorPage, pathId, readCheckedList, readJson, readQuery } from '../../http/request.ts';
import type { Handlers } from '../../http/router.ts';
import { zipStream } from '../../http/zip.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { EventFilter } from '../../storage/event-log.ts';
import type { WorkerContext } from '../context.ts';
import { type ConversationEntry, policyOf, secretValues } from '../conversations.ts';
import { conversationView, finalResponse, trajectoryMembers } from '../views.ts';
import { lookedUp } from './settings.ts';

const NO_MODEL = 'The local service runs no agent with a model, so no answer is possible. Use another server.';

/** The routes of conversations, of their runs, and of their events. */
export function workerConversationHandlers({ conversations, userStore }: WorkerContext): Handlers<AgentRoute> {
  /** The conversation in the path; 422 for a malformed id, 404 for an unknown one. */
  const entryOf = (c: Context, unknown = 'Not Found'): ConversationEntry => {
    const entry = conversations.get(pathId(c));
    if (entry === null) throw refuse(404, unknown);
    return entry;
  };
  const withStatus = (status: string | undefined): ConversationEntry[] =>
    conversations
      .all()
      .filter(({ conversation }) => status === undefined || conversation.state.execution_status === status);
  const change = (effect: (entry: ConversationEntry, c: Context) => void | Promise<void>) => async (c: Context) => {
    await effect(entryOf(c), c);
    return json(SUCCESS);
  };
  /** As `change`, for the two routes whose 404 names the conversation. */
  const changeNamed: typeof change = (effect) => async (c) => {
    await effect(entryOf(c, `Conversation not found: ${c.req.param('conversation_id') ?? ''}`), c);
    return json(SUCCESS);
  };
  return {
    'POST /api/conversations': async (c) => {
      const wanted = await readJson(c, startConversation);
      const id = wanted.conversation_id ?? randomUUID().replaceAll('-', '');
      const { working_dir } = wanted.workspace;
      // Before the id is looked up: no other request may begin in between.
      const instructions = wanted.replay == null ? await conversations.instructions(working_dir) : [];
      const existing = conversations.get(id);
      if (existing !== null) return json(conversationView(existing.conversation), 200);
      const secrets = lookedUp(wanted.secrets ?? {}, userStore);
      const { conversation, loop } = conversations.create(id, { ...wanted, secrets }, working_dir, instructions);
      const message = wanted.initial_message;
      if (message != null) {
        conversation.addMessage(message.role, message.content);
        if (message.run) loop.startOrJoin();
      }
      return json(conversationView(conversation), 201);
    },
    'GET /api/conversations': (c) => {
      const ids = readCheckedList(c, 'ids', conversationIds.entries.ids);
      if (ids.length > 99) throw refuse(400, 'Too many ids');
      return json(ids.map((id) => conversations.get(id)).map((entry) => entry && conversationView(entry.conversation)));
    },
    'GET /api/conversations/search': (c) => {
      const { limit, page_id, sort_order, status } = readQuery(c, conversationSearch);
      const member = sort_order.startsWith('UPDATED') ? 'updated_at' : 'created_at';
      const sign = sort_order.endsWith('_DESC') ? -1 : 1;
      const found = withStatus(status)
        .map(({ conversation }) => conversation)
        .sort((a, b) => (a.state[member] < b.state[member] ? -sign : sign));
      const page = cursorPage({ limit, page_id: toHexId(page_id ?? '') ?? undefined }, found, ({ id }) => id);
      return json({ ...page, items: page.items.map(conversationView) });
    },
    'GET /api/conversations/count': (c) => json(withStatus(readQuery(c, conversationCount).status).length),
    'GET /api/conversations/{conversation_id}': (c) => json(conversationView(entryOf(c).conversation)),
    'PATCH /api/conversations/{conversation_id}': change(async ({ conversation }, c) => {
      const { title, tags } = await readJson(c, updateConversation);
      conversation.record([], { ...(title == null ? {} : { title }), ...(tags == null ? {} : { tags }) });
    }),
    'DELETE /api/conversations/{conversation_id}': change(({ conversation }) => conversations.delete(conversation.id)),

    'POST /api/conversations/{conversation_id}/run': change(({ loop }) => {
      loop.start();
    }),
    'POST /api/conversations/{conversation_id}/pause': change(({ loop }) => loop.pause()),
    'POST /api/conversations/{conversation_id}/interrupt': change(({ loop }) => loop.interrupt()),
    'POST /local/conversations/{conversation_id}/user_command': change(async ({ loop }, c) => {
      loop.tools.runForUser((await readJson(c, userCommand)).command);
    }),
    'POST /api/conversations/{conversation_id}/ask_agent': async (c) => {
      entryOf(c);
      await readJson(c, askAgent);
      throw refuse(400, NO_MODEL);
    },
    'POST /api/conversations/{conversation_id}/fork': async (c) => {
      const { conversation } = entryOf(c, 'Source conversation not found');
      const wanted = await readJson(c, forkConversation, {});
      const id = wanted.id ?? randomUUID().replaceAll('-', '');
      if (conversations.get(id) !== null) throw refuse(409, `Conversation with id ${toDashedId(id)} already exists`);
      const fork = conversations.fork(conversation, id, wanted);
      if (fork === null) throw refuse(404, `from_event_id ${wanted.from_event_id ?? ''} not found`);
      return json(conversationView(fork.conversation), 201);
    },
    'GET /api/conversations/{conversation_id}/agent_final_response': (c) =>
      json({ response: finalResponse(entryOf(c).conversation) }),
    'POST /api/conversations/{conversation_id}/generate_title': (c) =>
      json({ title: entryOf(c).conversation.state.title ?? 'Untitled' }),

    'POST /api/conversations/{conversation_id}/secrets': change(async ({ conversation }, c) => {
      conversation.setSecrets(secretValues(lookedUp((await readJson(c, setSecrets)).secrets, userStore)));
    }),
    'POST /api/conversations/{conversation_id}/confirmation_policy': change(async ({ conversation }, c) => {
      conversation.setMember('confirmation_policy', policyOf((await readJson(c, setConfirmationPolicy)).policy));
    }),
    'POST /api/conversations/{conversation_id}/security_analyzer': change(async ({ conversation }, c) => {
      conversation.setMember('security_analyzer', (await readJson(c, setSecurityAnalyzer)).security_analyzer);
    }),
    'POST /api/conversations/{conversation_id}/switch_llm': change(async ({ conversation }, c) => {
      const { llm } = await readJson(c, switchLlm);
      const { model } = conversation;
      // A model alone is another one of the same endpoint.
      const next = llm.base_url == null && llm.api_key == null ? { ...model?.llm, ...llm } : llm;
      if (model !== null) conversation.setModel({ ...model, llm: next });
      conversation.record([], { model: llm.model });
    }),

    'POST /api/conversations/{conversation_id}/events': changeNamed(async ({ conversation, loop }, c) => {
      const { role, content, run } = await readJson(c, sendMessage);
      // Before the message is stored: a later run would process it without the user's knowledge.
      if (run) loop.assertNotWaiting();
      conversation.addMessage(role, content);
      if (run) loop.startOrJoin();
    }),
    'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': changeNamed(async ({ loop }, c) => {
      const { accept, reason } = await readJson(c, respondToConfirmation);
      loop.respond(accept, reason);
    }),
    'GET /api/conversations/{conversation_id}/events/search': (c) => {
      const { log } = entryOf(c).conversation;
      const query = readQuery(c, eventSearch);
      const order = query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
      const page = log.search({ ...filterOf(query), fromId: query.page_id, limit: query.limit, order });
      return json({ items: page.items, next_page_id: page.next?.id ?? null });
    },
    'GET /api/conversations/{conversation_id}/events/count': (c) =>
      json(entryOf(c).conversation.log.count(filterOf(readQuery(c, eventSearch)))),
    'GET /api/conversations/{conversation_id}/events/{event_id}': (c) => {
      const [event] = entryOf(c).conversation.log.get([c.req.param('event_id') ?? '']);
      if (!event) throw refuse(404, 'Event not found');
      return json(event);
    },
    'GET /api/file/download-trajectory/{conversation_id}': (c) => {
      const { conversation } = entryOf(c);
      return new Response(zipStream(trajectoryMembers(conversation)), {
        headers: attachment(`${conversation.id}.zip`),
      });
    },
  };
}

/** The headers of a download. */
export function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`,
  };
}

/** The module of each event kind at genuine servers, whose searches take the class path of a kind. */
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

/** Times in the naive form of the log; a kind from its path, such as `openhands.sdk.event.user_action.PauseEvent`. */
function filterOf({ kind: at, source, body, timestamp__gte: gte, timestamp__lt: lt }: EventSearch): EventFilter {
  const [, module = '', name = ''] = /^openhands\.sdk\.event\.([\w.]+)\.(\w+)$/.exec(at ?? '') ?? [];
  // The empty kind finds no event.
  const kind = at === undefined ? undefined : MODULES[module]?.includes(name) === true ? name : '';
  return { kind, source, body, gte: gte?.slice(0, -1), lt: lt?.slice(0, -1) };
}
