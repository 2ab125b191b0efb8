/** Conversations: start, find, run, stop, change, delete. */
import type { Hono } from 'hono';
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
import type { WorkerContext } from '../context.ts';
import { type ConversationEntry, policyOf, secretValues } from '../conversations.ts';
import { checked, conversationOf, HttpRefusal, readBody, readQuery } from '../http.ts';
import { runForUser } from '../user-command.ts';
import { conversationView, finalResponse } from '../views.ts';

const NO_MODEL = 'The local service runs no agent with a model, so nobody can answer. Use another server.';

export function conversationRoutes(app: Hono, worker: WorkerContext): void {
  const { conversations } = worker;
  readRoutes(app, worker);
  runRoutes(app, worker);
  changeRoutes(app, worker);

  app.post('/api/conversations', async (context) => {
    const wanted = await readBody(context, startConversation);
    const id = wanted.conversation_id ?? randomUUID().replaceAll('-', '');
    const existing = conversations.get(id);
    if (existing !== null) return context.json(conversationView(existing), 200);
    const entry = conversations.create(id, wanted, wanted.workspace.working_dir);
    const message = wanted.initial_message;
    if (message != null) {
      entry.conversation.addMessage(message.role, message.content);
      if (message.run) entry.loop.startOrJoin();
    }
    return context.json(conversationView(entry), 201);
  });

  app.delete('/api/conversations/:id', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    await conversations.delete(conversation.id);
    return context.json({ success: true });
  });
}

function readRoutes(app: Hono, { conversations }: WorkerContext): void {
  app.get('/api/conversations', (context) => {
    const { ids } = checked(conversationIds, { ids: context.req.queries('ids') }, 'query');
    if (ids.length > 99) throw new HttpRefusal(400, 'Too many ids');
    const found = ids.map((id) => conversations.get(id));
    return context.json(found.map((entry) => entry && conversationView(entry)));
  });

  app.get('/api/conversations/search', (context) => {
    const { limit, page_id, sort_order, status } = readQuery(context, conversationSearch);
    const entries = inOrder(conversations.all().filter(hasStatus(status)), sort_order);
    const start = Math.max(
      0,
      entries.findIndex(({ conversation }) => conversation.id === toHexId(page_id ?? '')),
    );
    const next = entries[start + limit];
    const items = entries.slice(start, start + limit).map(conversationView);
    return context.json({ items, next_page_id: next?.conversation.id ?? null });
  });

  app.get('/api/conversations/count', (context) => {
    const { status } = readQuery(context, conversationCount);
    return context.json(conversations.all().filter(hasStatus(status)).length);
  });

  app.get('/api/conversations/:id', (context) =>
    context.json(conversationView(conversationOf(context, conversations))),
  );

  app.get('/api/conversations/:id/agent_final_response', (context) =>
    context.json({ response: finalResponse(conversationOf(context, conversations)) }),
  );
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

function runRoutes(app: Hono, { conversations, sandbox }: WorkerContext): void {
  app.post('/api/conversations/:id/run', (context) => {
    conversationOf(context, conversations).loop.start();
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/pause', async (context) => {
    await conversationOf(context, conversations).loop.pause();
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/interrupt', async (context) => {
    await conversationOf(context, conversations).loop.interrupt();
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/user_command', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    runForUser(conversation, sandbox, (await readBody(context, userCommand)).command);
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/ask_agent', async (context) => {
    conversationOf(context, conversations);
    await readBody(context, askAgent);
    throw new HttpRefusal(400, NO_MODEL);
  });
}

function changeRoutes(app: Hono, { conversations }: WorkerContext): void {
  app.patch('/api/conversations/:id', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const { title, tags } = await readBody(context, updateConversation);
    conversation.record([], { ...(title == null ? {} : { title }), ...(tags == null ? {} : { tags }) });
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/secrets', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const { secrets } = await readBody(context, setSecrets);
    conversation.setSecrets(secretValues(secrets));
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/confirmation_policy', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const { policy } = await readBody(context, setConfirmationPolicy);
    conversation.setMember('confirmation_policy', policyOf(policy));
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/security_analyzer', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const { security_analyzer } = await readBody(context, setSecurityAnalyzer);
    conversation.setMember('security_analyzer', security_analyzer);
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/switch_llm', async (context) => {
    const { conversation } = conversationOf(context, conversations);
    const { llm } = await readBody(context, switchLlm);
    conversation.record([], { model: llm.model });
    return context.json({ success: true });
  });

  app.post('/api/conversations/:id/generate_title', (context) => {
    const { conversation } = conversationOf(context, conversations);
    return context.json({ title: conversation.state.title ?? 'Untitled' });
  });
}
