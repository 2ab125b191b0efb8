/** Conversations: start, find, run, stop, change, delete. */
import type { Context } from 'hono';
import { randomUUID } from 'node:crypto';
import {
  askAgent,
  conversationCount,
  conversationIds,
  conversationSearch,
  setConfirmationPolicy,
  setSecrets,
  setSecurityAnalyzer,
  startConversation,
  switchLlm,
  updateConversation,
  userCommand,
} from '../../../protocol/agent-server/requests.ts';
import { toHexId } from '../../../protocol/detail.ts';
import { json, refuse, SUCCESS } from '../../http/answer.ts';
import { cursorPage, pathId, readCheckedList, readJson, readQuery } from '../../http/request.ts';
import type { Handlers } from '../../http/router.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { WorkerContext } from '../context.ts';
import type { Conversation } from '../conversation.ts';
import { type ConversationEntry, type Conversations, policyOf, secretValues } from '../conversations.ts';
import type { RunLoop } from '../run-loop.ts';
import { runForUser } from '../tools.ts';
import { conversationView, finalResponse } from '../views.ts';

const NO_MODEL = 'The local service runs no agent with a model, so no answer is possible. Use another server.';

/** The conversation in the path; 422 for a malformed id, 404 for an unknown one. */
export function entryOf(c: Context, conversations: Conversations): ConversationEntry {
  const entry = conversations.get(pathId(c));
  if (entry === null) throw refuse(404, 'Not Found');
  return entry;
}

export function conversationHandlers(worker: WorkerContext): Handlers<AgentRoute> {
  return { ...readHandlers(worker), ...runHandlers(worker), ...changeHandlers(worker) };
}

function readHandlers({ conversations }: WorkerContext): Handlers<AgentRoute> {
  return {
    'GET /api/conversations': (c) => {
      const ids = readCheckedList(c, 'ids', conversationIds.entries.ids);
      if (ids.length > 99) throw refuse(400, 'Too many ids');
      return json(ids.map((id) => conversations.get(id)).map((entry) => entry && conversationView(entry)));
    },
    'GET /api/conversations/search': (c) => {
      const { limit, page_id, sort_order, status } = readQuery(c, conversationSearch);
      const entries = inOrder(conversations.all().filter(hasStatus(status)), sort_order);
      const query = { limit, page_id: toHexId(page_id ?? '') ?? undefined };
      const page = cursorPage(query, entries, ({ conversation }) => conversation.id);
      return json({ ...page, items: page.items.map(conversationView) });
    },
    'GET /api/conversations/count': (c) => {
      const { status } = readQuery(c, conversationCount);
      return json(conversations.all().filter(hasStatus(status)).length);
    },
    'GET /api/conversations/{conversation_id}': (c) => json(conversationView(entryOf(c, conversations))),
    'GET /api/conversations/{conversation_id}/agent_final_response': (c) =>
      json({ response: finalResponse(entryOf(c, conversations)) }),
  };
}

function hasStatus(status: string | undefined) {
  return ({ conversation }: ConversationEntry): boolean =>
    status === undefined || conversation.state.execution_status === status;
}

function inOrder(entries: ConversationEntry[], order: string): ConversationEntry[] {
  const member = order.startsWith('UPDATED') ? 'updated_at' : 'created_at';
  const sign = order.endsWith('_DESC') ? -1 : 1;
  return [...entries].sort((a, b) => (a.conversation.state[member] < b.conversation.state[member] ? -sign : sign));
}

function runHandlers({ conversations, sandbox }: WorkerContext): Handlers<AgentRoute> {
  const change = (effect: (loop: RunLoop) => void | Promise<void>) => async (c: Context) => {
    await effect(entryOf(c, conversations).loop);
    return json(SUCCESS);
  };
  return {
    'POST /api/conversations/{conversation_id}/run': change((loop) => loop.start()),
    'POST /api/conversations/{conversation_id}/pause': change((loop) => loop.pause()),
    'POST /api/conversations/{conversation_id}/interrupt': change((loop) => loop.interrupt()),
    'POST /local/conversations/{conversation_id}/user_command': async (c) => {
      const { conversation } = entryOf(c, conversations);
      runForUser(conversation, sandbox, (await readJson(c, userCommand)).command);
      return json(SUCCESS);
    },
    'POST /api/conversations/{conversation_id}/ask_agent': async (c) => {
      entryOf(c, conversations);
      await readJson(c, askAgent);
      throw refuse(400, NO_MODEL);
    },
  };
}

function changeHandlers({ conversations }: WorkerContext): Handlers<AgentRoute> {
  const change = (effect: (conversation: Conversation, c: Context) => Promise<void>) => async (c: Context) => {
    await effect(entryOf(c, conversations).conversation, c);
    return json(SUCCESS);
  };
  return {
    'POST /api/conversations': async (c) => {
      const wanted = await readJson(c, startConversation);
      const id = wanted.conversation_id ?? randomUUID().replaceAll('-', '');
      const existing = conversations.get(id);
      if (existing !== null) return json(conversationView(existing), 200);
      const entry = conversations.create(id, wanted, wanted.workspace.working_dir);
      const message = wanted.initial_message;
      if (message != null) {
        entry.conversation.addMessage(message.role, message.content);
        if (message.run) entry.loop.startOrJoin();
      }
      return json(conversationView(entry), 201);
    },
    'DELETE /api/conversations/{conversation_id}': change(({ id }) => conversations.delete(id)),
    'PATCH /api/conversations/{conversation_id}': change(async (conversation, c) => {
      const { title, tags } = await readJson(c, updateConversation);
      conversation.record([], { ...(title == null ? {} : { title }), ...(tags == null ? {} : { tags }) });
    }),
    'POST /api/conversations/{conversation_id}/secrets': change(async (conversation, c) => {
      conversation.setSecrets(secretValues((await readJson(c, setSecrets)).secrets));
    }),
    'POST /api/conversations/{conversation_id}/confirmation_policy': change(async (conversation, c) => {
      conversation.setMember('confirmation_policy', policyOf((await readJson(c, setConfirmationPolicy)).policy));
    }),
    'POST /api/conversations/{conversation_id}/security_analyzer': change(async (conversation, c) => {
      conversation.setMember('security_analyzer', (await readJson(c, setSecurityAnalyzer)).security_analyzer);
    }),
    'POST /api/conversations/{conversation_id}/switch_llm': change(async (conversation, c) => {
      conversation.record([], { model: (await readJson(c, switchLlm)).llm.model });
    }),
    'POST /api/conversations/{conversation_id}/generate_title': (c) =>
      json({ title: entryOf(c, conversations).conversation.state.title ?? 'Untitled' }),
  };
}
