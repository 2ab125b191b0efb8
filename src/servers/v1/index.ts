/** The V1 adapter of the port: the calls of the app server, and of the agent server behind each conversation. */
import { isAppError } from '../../errors.ts';
import type { Account } from '../server.ts';
import type { Server } from '../server.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { parseTime } from '../../text/time.ts';
import { isUuid, normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { createSecrets } from '../secrets.ts';
import { answerV1, pendingV1, runV1, wakeV1 } from './answers.ts';
import {
  getConversation,
  getConversations,
  getStartTask,
  noConversation,
  recentStartTasks,
  searchConversations,
} from './calls.ts';
import { removeV1, renameV1, stopV1 } from './changes.ts';
import { createCopyNotices } from './copy.ts';
import { diffV1 } from './diff.ts';
import { eventsV1 } from './events.ts';
import { followV1 } from './follow.ts';
import { createModelProfilesV1 } from './model-profiles.ts';
import { taskConversation, toConversation, type WebUrl } from './records.ts';
import { resultV1 } from './result.ts';
import { createSandboxes } from './sandboxes.ts';
import { settle } from './settled.ts';
import { sendV1 } from './send.ts';
import { createSettingsV1 } from './settings.ts';
import { createSpecs } from './specs.ts';
import { isEcho } from './start-body.ts';
import { NO_PROGRESS_MS, startV1 } from './start.ts';

/** A start that takes longer is none any more; the server's clock may go behind ours. */
const LONGEST_START_MS = 1_800_000;

export type V1 = Omit<Server, 'info' | 'has' | 'close' | 'withSignal'>;

export function createV1(links: Links, facts: ProbeFacts): V1 {
  const sandboxes = createSandboxes(links);
  const copy = createCopyNotices(links);
  const webUrl: WebUrl = (id) => (facts.flavour === 'local' ? null : `${links.app.baseUrl}/conversations/${id}`);
  return {
    account: () => account(links, facts),
    conversations: {
      start: (request, options) => startV1(links, facts, webUrl, request, options),
      async list(query, page) {
        const { items, next } = await searchConversations(links, query, page);
        return { items: items.map((record) => toConversation(record, webUrl)), next };
      },
      get: (id) => get(links, facts, webUrl, id),
      async getSettled(id) {
        const conversation = await get(links, facts, webUrl, id);
        if (conversation.id === '') return conversation;
        const settled = await settle(links, await getConversation(links, conversation.id), webUrl);
        return { ...settled, start_task_id: conversation.start_task_id };
      },
      rename: (id, title) => renameV1(links, facts, webUrl, id, title),
      remove: (id) => removeV1(links, facts, id),
      events: (id, query) => eventsV1(links, copy, id, query),
      follow: (id, options) => followV1(links, webUrl, id, options),
      result: (id) => resultV1(links, copy, id),
      send: (id, message) => sendV1(links, facts, id, message),
      pending: (id) => pendingV1(links, id),
      answer: (id, answer) => answerV1(links, id, answer),
      run: (id) => runV1(links, id),
      wake: (id) => wakeV1(links, id, sandboxes.resume),
      stop: (id) => stopV1(links, id),
      diff: (id) => diffV1(links, id),
    },
    sandboxes,
    specs: createSpecs(links),
    settings: createSettingsV1(links, facts),
    // Where V0 is spoken too its routes know all secrets; some of those releases have no others.
    secrets: createSecrets(links, facts, facts.dialects.includes('v0') ? 'v0' : 'v1'),
    modelProfiles: createModelProfilesV1(links, facts),
  };
}

/** A conversation's id, or that of its start task. */
async function get(links: Links, facts: ProbeFacts, webUrl: WebUrl, id: string): Promise<Conversation> {
  try {
    return toConversation(await getConversation(links, id), webUrl);
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  }
  const [named, echoing] = await Promise.all([getStartTask(links, id), startTaskOf(links, facts, id)]);
  const task = named ?? echoing;
  if (task === null) throw noConversation(id);
  if (task.app_conversation_id === null || task.status !== 'READY') {
    const begun = await begunAllTheSame(links, task);
    // Until it is ready, and for good when it failed, the id a task names is that of no conversation.
    if (begun === null) return { ...taskConversation(task), id: '', ...chosenId(task) };
    return { ...toConversation(begun, webUrl), start_task_id: normalId(task.id) };
  }
  const record = await getConversation(links, task.app_conversation_id);
  return { ...toConversation(record, webUrl), start_task_id: normalId(task.id) };
}

/** An id of the caller's choice is told before there is its conversation: the start that carries it says how it stands. */
async function startTaskOf(links: Links, facts: ProbeFacts, id: string): Promise<StartTaskRecord | null> {
  if (!isUuid(id) || !facts.features.includes('caller-conversation-id')) return null;
  const tasks = await recentStartTasks(links, new Date(links.clock.now() - LONGEST_START_MS).toISOString());
  return tasks.find((task) => isEcho(task, id)) ?? null;
}

/** What a start was sent with is the id of its conversation, unless it failed: then there will be none. */
function chosenId({ status, request }: StartTaskRecord): { chosen_id?: string } {
  const asked = request['conversation_id'];
  return status === 'ERROR' || typeof asked !== 'string' ? {} : { chosen_id: normalId(asked) };
}

/** Some tasks never end though their conversation runs (interface 4.2): one that stands still is looked up by its id. */
async function begunAllTheSame(links: Links, task: StartTaskRecord): Promise<AppConversationRecord | null> {
  const asked = task.app_conversation_id ?? task.request['conversation_id'];
  const movedAtMs = parseTime(task.updated_at ?? task.created_at);
  const stands = movedAtMs !== null && links.clock.now() - movedAtMs >= NO_PROGRESS_MS;
  if (task.status === 'ERROR' || !stands || typeof asked !== 'string') return null;
  const record = (await getConversations(links, [normalId(asked)]))[0] ?? null;
  return record === null || record.execution_status === null ? null : record;
}

/** `users/me` is 500 on release 1.6.0 while no settings are stored, and anonymous on a self-hosted server. */
async function account(links: Links, facts: ProbeFacts): Promise<Account> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/users/me',
    safe: 'read',
    accept: [404, 405, 500],
  });
  const me = answer.status === 200 && isRecord(answer.body) ? answer.body : {};
  const organization = facts.flavour === 'cloud' ? await currentOrganization(links) : null;
  const text = (name: string): string | null => (typeof me[name] === 'string' && me[name] !== '' ? me[name] : null);
  return { user: text('id'), email: text('email') ?? text('git_user_email'), organization };
}

async function currentOrganization(links: Links): Promise<string | null> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/keys/current',
    safe: 'read',
    accept: [400, 401, 403, 404, 405, 500],
  });
  const organization = isRecord(answer.body) ? answer.body['org_id'] : null;
  return typeof organization === 'string' ? organization : null;
}
