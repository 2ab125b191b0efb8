/** Finds conversations by the id of their start task, or by an id that the caller chose for the start. */
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { parseTime } from '../../text/time.ts';
import { isUuid, normalId, noConversation } from '../ids.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { NO_PROGRESS_MS, startedConversation } from '../quirks/stalled-start.ts';
import { isOnlyUnwritten } from '../quirks/unwritten-start.ts';
import { getConversation, getConversations } from './calls.ts';
import { taskConversation, toConversation } from './records.ts';
import { isEcho } from './start-body.ts';
import { conversationOf, getStartTask, LONGEST_START_MS, searchStartTasks } from './start-tasks.ts';

/** For an id that no conversation has. Throws `not-found`. */
export async function getByStart(links: Links, facts: ProbeFacts, webUrl: WebUrl, id: string): Promise<Conversation> {
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

/** The start that carries an id of the caller's choice; the conversation may not exist yet. */
async function startTaskOf(links: Links, facts: ProbeFacts, id: string): Promise<StartTaskRecord | null> {
  if (!isUuid(id) || facts.features['caller-conversation-id'] === 'absent') return null;
  const since = new Date(links.clock.now() - LONGEST_START_MS).toISOString();
  const { items: tasks } = await searchStartTasks(links, { since });
  return tasks.find((task) => isEcho(task, id)) ?? null;
}

/** What a start was sent with is the id of its conversation, unless it failed: then there will be none. */
function chosenId({ status, request }: StartTaskRecord): { chosen_id?: string } {
  const asked = request['conversation_id'];
  return status === 'ERROR' || typeof asked !== 'string' ? {} : { chosen_id: normalId(asked) };
}

/** Some tasks never end though their conversation runs (interface 4.2): one that stands still is looked up by its id. */
async function begunAllTheSame(links: Links, task: StartTaskRecord): Promise<AppConversationRecord | null> {
  const asked = conversationOf(task);
  const movedAtMs = parseTime(task.updated_at ?? task.created_at);
  const stands = movedAtMs !== null && links.clock.now() - movedAtMs >= NO_PROGRESS_MS;
  const isUnwritten = isOnlyUnwritten(task);
  if (asked === null || (task.status === 'ERROR' ? !isUnwritten : !stands)) return null;
  if (!isUnwritten) return await startedConversation(links, asked);
  return (await getConversations(links, [normalId(asked)]))[0] ?? null;
}
