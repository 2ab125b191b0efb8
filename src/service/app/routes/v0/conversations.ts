/** Conversations of V0: create, list, read, rename, delete, start, stop (interface sections 3.1 to 3.3). */
import type { Context } from 'hono';
import { conversationCreate, conversationPatch, conversationStart } from '../../../../protocol/v0/requests.ts';
import { HttpError, json } from '../../../http/answer.ts';
import { readJson } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { conversationInfo, statusOf } from '../../conversation-info.ts';
import { isOwnerAndName, isPlaced } from '../../repositories/repository.ts';
import { removeConversation } from '../../removal.ts';
import { connectedForgejo } from '../../settings/providers.ts';
import { readSettings } from '../../settings/record.ts';
import type { StartRequest } from '../../starts/start-plan.ts';
import { StartRefused, startFromV0 } from '../../starts/start-request.ts';
import { toHexId } from '../../../../protocol/detail.ts';
import { findConversation, findOwn, givenId } from './known.ts';
import { listConversations } from './list.ts';

export function conversationHandlersV0(context: AppContext): Handlers<AppRoute> {
  const { store } = context;
  return {
    'POST /api/conversations': (c) => create(context, c),
    'GET /api/conversations': (c) => listConversations(context, c),
    'GET /api/conversations/{conversation_id}': (c) => {
      const row = findConversation(context, c);
      return json(row === null ? null : conversationInfo(row, context));
    },
    'PATCH /api/conversations/{conversation_id}': async (c) => {
      const { title } = await readJson(c, conversationPatch);
      const row = findConversation(context, c);
      if (row === null) {
        const message = 'Conversation not found';
        throw new HttpError(404, { status: 'error', message, msg_id: 'CONVERSATION$NOT_FOUND' });
      }
      store.conversations.update(row.id, { title, updated_at: context.clock.stamp() });
      return json(true);
    },
    'DELETE /api/conversations/{conversation_id}': async (c) => {
      const row = findConversation(context, c);
      return json(row !== null && (await removeConversation(context, row.id)));
    },
    'POST /api/conversations/{conversation_id}/start': (c) => start(context, c),
    'POST /api/conversations/{conversation_id}/stop': (c) => stop(context, c),
  };
}

async function create(context: AppContext, c: Context): Promise<Response> {
  const body = await readJson(c, conversationCreate);
  const known = body.conversation_id == null ? null : toHexId(body.conversation_id);
  if (known !== null && isOfV1(context, known)) {
    throw new HttpError(409, {
      status: 'error',
      message: `Conversation ${known} belongs to V1`,
      msg_id: 'CONVERSATION$EXISTS',
    });
  }
  const isKnown = known !== null && context.store.conversations.get(known)?.start_state === 'ready';
  const isBearer = /^Bearer\s/i.test(c.req.header('authorization') ?? '');
  const trigger =
    body.suggested_task != null
      ? 'suggested_task'
      : body.create_microagent != null
        ? 'microagent_management'
        : isBearer
          ? 'openhands_api'
          : 'gui';
  try {
    const { specs, defaultReplay } = context;
    const around = { settings: readSettings(context.store.documents), specs, defaultReplay };
    // The start of a conversation that exists returns it, so the request need not name its replay again.
    const given = isKnown ? { ...body, replay_json: body.replay_json ?? 'demo' } : body;
    const wanted = startFromV0(given, around, trigger);
    if (!(await isAccessible(context, wanted))) {
      throw new HttpError(401, `Unable to access repo ${wanted.repository}`);
    }
    const task = context.starter.begin(wanted);
    const row = context.store.conversations.get(task.conversation_id);
    return json({
      status: 'ok',
      conversation_id: task.conversation_id,
      message: null,
      conversation_status: row === null ? 'STARTING' : statusOf(row, context),
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    throw new HttpError(400, { status: 'error', message: error.message, msg_id: error.messageId });
  }
}

/** Whether the id belongs to V1. While a conversation of V1 starts it has a task and no record. */
function isOfV1({ store }: AppContext, id: string): boolean {
  const row = store.conversations.get(id);
  return row === null ? store.startTasks.count({ dialect: 'V1', conversationId: id }) > 0 : row.dialect === 'V1';
}

/** False for a repository that does not exist: it names no host, or the Forgejo host does not have it. */
async function isAccessible(
  { store }: AppContext,
  { cloneFrom, provider, repository }: StartRequest,
): Promise<boolean> {
  if (cloneFrom === null || repository === null) return true;
  if (!isPlaced(cloneFrom, provider)) return false;
  const forgejo = provider === 'forgejo' && isOwnerAndName(cloneFrom) ? connectedForgejo(store.documents) : null;
  // Without an answer of the host, git decides.
  return forgejo === null || (await forgejo.hasRepository(repository).catch(() => true));
}

async function start(context: AppContext, c: Context): Promise<Response> {
  await readJson(c, conversationStart);
  const row = findOwn(context, c);
  if (row === null) throw new HttpError(404, { status: 'error', conversation_id: givenId(c) });
  const before = statusOf(row, context);
  if (before === 'ARCHIVED') {
    const message = 'The sandbox of this conversation was deleted';
    throw new HttpError(410, { status: 'error', conversation_id: row.id, message });
  }
  // Also while it runs: a stop may be queued.
  const isResumed = row.sandbox_id !== null && (await context.supervisor.resume(row.sandbox_id));
  if (!isResumed && before !== 'STARTING') {
    const message = row.start_detail ?? 'The sandbox of this conversation is gone';
    throw new HttpError(409, { status: 'error', conversation_id: row.id, message });
  }
  return json(response(row.id, null, before === 'RUNNING' ? 'RUNNING' : 'STARTING'));
}

async function stop(context: AppContext, c: Context): Promise<Response> {
  const row = findOwn(context, c);
  const before = row === null ? 'STOPPED' : statusOf(row, context);
  const isUp = before === 'RUNNING' || before === 'STARTING';
  if (row?.sandbox_id == null || !isUp) return json(response(givenId(c), 'Conversation was not running', before));
  await context.supervisor.pause(row.sandbox_id);
  return json(response(row.id, 'Conversation stopped successfully', before));
}

function response(id: string, message: string | null, status: string): unknown {
  return { status: 'ok', conversation_id: id, message, conversation_status: status };
}
