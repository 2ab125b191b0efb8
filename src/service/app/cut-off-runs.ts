/**
 * Runs whose worker can write no more, because it was killed: how they ended is written into their logs from here. A log
 * has one writer at a time, so the worker must be gone.
 */
import type { Clock } from '../life/clock.ts';
import { eventLogFile, openEventLog } from '../event-log.ts';
import { Conversation } from '../worker/conversation.ts';
import type { ConversationNotice } from '../worker-protocol.ts';
import type { ConversationState } from '../conversation-state.ts';
import { readLogStates } from './log-states.ts';

/** `paused`: the service was stopped, and the run can go on. `failed`: the sandbox broke down; `why` in words. */
export type CutOff = { end: 'paused' } | { end: 'failed'; why: string };

export interface CutOffOptions {
  clock: Clock;
  /** Told of each run that is ended here, after it is written. */
  onConversation(notice: ConversationNotice): void;
  log(line: string): void;
}

/**
 * Ends the runs that their logs say are under way. What has an end keeps it, so a second call writes nothing.
 * @param eventsDir folder of the logs of one sandbox
 * @returns the states that were left as they are, by conversation
 */
export function endCutOffRuns(eventsDir: string, how: CutOff, options: CutOffOptions): Map<string, ConversationState> {
  const states = readLogStates(eventsDir, options.log);
  for (const [id, { execution_status }] of states) {
    if (execution_status !== 'running') continue;
    try {
      endRun(eventsDir, id, how, options);
      states.delete(id);
    } catch (error) {
      options.log(`conversation ${id}: the end of its run could not be written: ${String(error)}`);
    }
  }
  return states;
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

const NEXT = 'Its files are kept: resume the sandbox, and a message goes on from there.';
