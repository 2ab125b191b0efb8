import type { Clock } from '../lifecycle/clock.ts';
import { eventLogFile, openEventLog } from '../storage/event-log.ts';
import type { Store } from '../storage/index.ts';
import { Conversation, noticeOf } from '../agent-server/conversation.ts';
import type { ConversationNotice } from '../base/worker-protocol.ts';
import { readLogStates } from '../storage/event-logs.ts';

/** `paused`: the service was stopped, and the run can continue. `failed`: the sandbox failed. */
export type CutOff = { end: 'paused' } | { end: 'failed'; why: string };

interface CutOffContext {
  clock: Clock;
  log(line: string): void;
  store: Pick<Store, 'conversations'>;
  onConversation(notice: ConversationNotice): void;
}

/** `onConversation` gets the state of each conversation whose log is ahead of the store. */
export function endCutOffRuns(
  eventsDir: string,
  how: CutOff,
  { clock, store, onConversation, log }: CutOffContext,
): void {
  const passOn = (notice: ConversationNotice): void => {
    const stored = store.conversations.get(notice.conversation_id);
    if (stored === null) return;
    // A title that the user gave is newer than the log.
    const updated_at =
      stored.updated_at > notice.updated_at ? stored.updated_at : notice.updated_at;
    const isStored =
      stored.execution_status === notice.execution_status && stored.updated_at === updated_at;
    if (!isStored) onConversation({ ...notice, updated_at });
  };
  for (const [id, state] of readLogStates(eventsDir, log)) {
    if (state.execution_status !== 'running') {
      passOn(noticeOf(state));
      continue;
    }
    try {
      const file = openEventLog(eventLogFile(eventsDir, id));
      endRun(new Conversation(state, file, () => clock.now() * 1000, passOn), how);
    } catch (error) {
      log(`conversation ${id}: the end of its run could not be written: ${error}`);
      const execution_status = how.end === 'paused' ? 'paused' : 'error';
      passOn(noticeOf({ ...state, execution_status }));
    }
  }
}

const NEXT = 'Its files are kept: resume the sandbox, and send a message to continue the run.';

function endRun(conversation: Conversation, how: CutOff): void {
  try {
    if (how.end === 'paused') return conversation.recover();
    const detail = `The sandbox broke down in the middle of the run: ${how.why}. ${NEXT}`;
    const lost = 'The sandbox ended before this tool call was complete.';
    conversation.fail('SandboxCrashed', detail, lost);
  } finally {
    conversation.close();
  }
}
