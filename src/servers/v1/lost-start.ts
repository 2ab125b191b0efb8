/** After a start whose answer was lost: was it taken? */
import { poll, STEADY } from '../../runs/poll.ts';
import type { AppError } from '../../errors.ts';
import { isAppError } from '../../errors.ts';
import type { StartTaskRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { getConversations } from './calls.ts';
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
