/** After a start whose answer was lost: was it taken? */
import { poll, STEADY } from '../../runs/poll.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { StartTaskRecord } from '../../protocol/v1/records.ts';
import { parseTime } from '../../text/time.ts';
import { normalId } from '../ids.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { SentStart } from '../server.ts';
import { getConversations } from './calls.ts';
import { getByStart } from './lookup.ts';
import { toConversation } from './records.ts';
import { isEcho } from './start-body.ts';
import { searchStartTasks } from './start-tasks.ts';

/** A start that was taken is listed within this time. */
const LISTED_MS = 6_000;
/** The server's clock may go behind ours. */
const CLOCK_MARGIN_MS = 600_000;

/**
 * Looks for our conversation id, then for a start task that carries it. Null when neither shows up; the error that
 * lost the answer is thrown when the server does not answer at all.
 */
export async function findLostStart(
  links: Links,
  conversationId: string,
  sentAtMs: number,
  lost: AppError,
): Promise<StartTaskRecord | null> {
  const since = new Date(sentAtMs - CLOCK_MARGIN_MS).toISOString();
  let asked = 0;
  const listed = async (): Promise<StartTaskRecord | undefined> => {
    try {
      const { items: tasks } = await searchStartTasks(links, { since });
      const task = tasks.find(
        (one) => isEcho(one, conversationId) || normalId(one.app_conversation_id ?? '') === normalId(conversationId),
      );
      if (task !== undefined) return task;
      const record = (await getConversations(links, [normalId(conversationId)]))[0];
      if (record != null) return madeUpTask(conversationId, record.sandbox_id);
      asked += 1;
    } catch (error) {
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
    }
    return undefined;
  };
  const task = await poll(listed, { ...links, every: STEADY, until: links.clock.now() + LISTED_MS });
  if (task === undefined && asked === 0) throw lost;
  return task ?? null;
}

/**
 * A start of an earlier command. A server whose starts take `conversation_id` repeats it in the start task, also where
 * it uses another id: without such a task, and without the conversation, it has not taken the start.
 * @throws unknown-outcome where the server does not repeat the id
 */
export async function findStart(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  { id, sent_at }: SentStart,
): Promise<Conversation | null> {
  const sentAtMs = parseTime(sent_at) ?? links.clock.now();
  const unknown = new AppError('unknown-outcome', 'neither the conversation of the start nor its start task is there', {
    hint: `it went out at ${sent_at}; look for it: acs conv list`,
  });
  if (id === null) throw unknown;
  const since = new Date(sentAtMs - CLOCK_MARGIN_MS).toISOString();
  const look = async (): Promise<Conversation | undefined> => {
    const record = (await getConversations(links, [id]))[0];
    if (record != null) return toConversation(record, webUrl);
    const fetchPage = (page: string | null) => searchStartTasks(links, { since }, page);
    for await (const task of allPages<StartTaskRecord>(byId, fetchPage)) {
      if (isEcho(task, id)) return await getByStart(links, facts, webUrl, task.id);
    }
    return undefined;
  };
  const found = await poll(look, { ...links, every: STEADY, until: sentAtMs + LISTED_MS });
  if (found === undefined && facts.features['caller-conversation-id'] !== 'present' && !facts.echoes_ids) throw unknown;
  return found ?? null;
}

/** The conversation is there, its task is not: as good as a task that ended. */
function madeUpTask(conversationId: string, sandboxId: string | null): StartTaskRecord {
  const id = normalId(conversationId);
  return {
    id,
    status: 'READY',
    detail: null,
    app_conversation_id: id,
    sandbox_id: sandboxId,
    created_at: null,
    updated_at: null,
    request: { conversation_id: id },
  };
}
