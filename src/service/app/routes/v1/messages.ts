/** Messages to conversations, at once or once they have started (interface section 4.4). */
import { randomUUID } from 'node:crypto';
import { toHexId } from '../../../../protocol/detail.ts';
import { pendingMessage, sendMessage } from '../../../../protocol/v1/requests.ts';
import { textOf } from '../../../sandboxes/agent-client.ts';
import { json, pathId, readJson, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { deliverPending } from '../../pending.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';
import { findConversation, findStartTask, runningSandbox } from './known.ts';
import type { Route } from '../../route.ts';

export function messageRoutes(context: AppContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/app-conversations/{conversation_id}/send-message',
      handle: async (c) => {
        const id = pathId(c);
        const body = await readJson(c, sendMessage);
        return json(await send(context, id, body));
      },
    },
    {
      method: 'POST',
      path: '/api/v1/conversations/{conversation_id}/pending-messages',
      handle: async (c) => {
        const body = await readJson(c, pendingMessage);
        if (!Array.isArray(body.content) || body.content.length === 0)
          throw refuse(400, 'content must be a non-empty list');
        return json(queue(context, c.req.param('conversation_id') ?? '', body.role, body.content), 201);
      },
    },
  ];
}

interface Message {
  role: string;
  content: unknown[];
  run: boolean;
}

async function send(context: AppContext, id: string, message: Message): Promise<unknown> {
  const sandbox = runningSandbox(context, id);
  try {
    const path = `/api/conversations/${id}/events`;
    const answer = await context.supervisor.send(sandbox.id, { method: 'POST', path, json: message });
    if (answer.status === 507) throw refuse(507, textOf(answer));
    if (answer.status >= 500) throw refuse(503, `the agent server failed: ${textOf(answer)}`);
    if (answer.status >= 400) throw refuse(answer.status === 409 ? 409 : 502, textOf(answer));
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw refuse(503, error.message);
    throw error;
  }
  return { success: true, sandbox_status: 'RUNNING', message: null };
}

/** Takes the id of a conversation, or of a start task with or without `task-`. */
function queue(context: AppContext, target: string, role: string, content: unknown[]): unknown {
  const { store } = context;
  const id = toHexId(target.replace(/^task-/, ''));
  const task = id === null ? null : findStartTask(context, id);
  const isKnown =
    id !== null && (task !== null || findConversation(context, id) !== null || isBeingStarted(context, id));
  if (!isKnown) throw refuse(404, `Conversation ${target.slice(0, 100)} not found`);
  const message = { id: randomUUID(), role, content };
  const position = store.pendingMessages.add(task?.conversation_id ?? id, message);
  if (position === null) throw refuse(429, 'Too many pending messages for this conversation');
  const known = store.conversations.get(task?.conversation_id ?? id);
  if (known !== null)
    void deliverPending(context, known.id).catch((error: unknown) => {
      context.log(`pending messages were not delivered: ${String(error)}`);
    });
  return { id: message.id, queued: true, position };
}

function isBeingStarted(context: AppContext, conversationId: string): boolean {
  return context.store.startTasks.count({ dialect: 'V1', conversationId }) > 0;
}
