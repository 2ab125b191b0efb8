/**
 * Reads the logs of a sandbox whose worker has ended: the status of its conversations, and the interrupted runs, whose
 * end it writes to their logs. A log has one writer at a time, so the worker must have ended.
 */
import type { Clock } from '../lifecycle/clock.ts';
import { eventLogFile, openEventLog } from '../storage/event-log.ts';
import type { Store } from '../storage/index.ts';
import { Conversation } from '../agent-server/conversation.ts';
import type { ConversationNotice } from './worker-protocol.ts';
import type { ConversationState } from '../storage/conversation-state.ts';
import { readLogStates } from '../storage/log-states.ts';

/** `paused`: the service was stopped, and the run can continue. `failed`: the sandbox failed; `why` is the reason. */
export type CutOff = { end: 'paused' } | { end: 'failed'; why: string };

export interface CutOffOptions {
  clock: Clock;
  /** Is only read here. */
  store: Pick<Store, 'conversations'>;
  /** Gets the state of each conversation whose log is ahead of what is stored, after the log is written. */
  onConversation(notice: ConversationNotice): void;
  log(line: string): void;
}

/**
 * Ends the runs that are in progress by their logs, and passes on every state that the store lacks: a killed worker may
 * have written a state and not reported it. A run with an end keeps it, so a second call writes nothing.
 * @param eventsDir folder of the logs of one sandbox
 */
export function endCutOffRuns(eventsDir: string, how: CutOff, options: CutOffOptions): void {
  const handOn = (notice: ConversationNotice): void => {
    const stored = options.store.conversations.get(notice.conversation_id);
    if (stored === null) return;
    // A title that the user gave is newer than the log.
    const updated_at = stored.updated_at > notice.updated_at ? stored.updated_at : notice.updated_at;
    const isKnown = stored.execution_status === notice.execution_status && stored.updated_at === updated_at;
    if (!isKnown) options.onConversation({ ...notice, updated_at });
  };
  for (const [id, state] of readLogStates(eventsDir, options.log)) {
    if (state.execution_status !== 'running') {
      handOn(noticeOf(id, state));
      continue;
    }
    try {
      endRun(eventsDir, id, how, { ...options, onConversation: handOn });
    } catch (error) {
      options.log(`conversation ${id}: the end of its run could not be written: ${String(error)}`);
      handOn(noticeOf(id, { ...state, execution_status: how.end === 'paused' ? 'paused' : 'error' }));
    }
  }
}

function noticeOf(conversation_id: string, state: ConversationState): ConversationNotice {
  const { execution_status, title, metrics, updated_at } = state;
  return { type: 'conversation', conversation_id, execution_status, title, metrics, updated_at, deleted: false };
}

function endRun(eventsDir: string, id: string, how: CutOff, { clock, onConversation }: CutOffOptions): void {
  const log = openEventLog(eventLogFile(eventsDir, id));
  const state = log.readState();
  if (state === null) {
    log.close();
    return;
  }
  const conversation = new Conversation(state, log, () => clock.now() * 1000, onConversation);
  try {
    if (how.end === 'paused') conversation.recover();
    else conversation.crash(`The sandbox broke down in the middle of the run: ${how.why}. ${NEXT}`);
  } finally {
    conversation.close();
  }
}

const NEXT = 'Its files are kept: resume the sandbox, and send a message to continue the run.';
