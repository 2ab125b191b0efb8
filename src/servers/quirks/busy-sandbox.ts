/**
 * Reads a record again whose status is null, and marks the status of a sandbox that may only be busy (`may_recover`): a
 * wait does not end with it, and a follower delivers it once it lasts.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv show` reports no status or `failed`, and `conv wait` exits 1, while the run continues: the record of a
 *           busy sandbox has a null status for a second, and a sandbox that does not answer its health check is in
 *           ERROR until it does.
 * Evidence: interface 4.3 and 5.2; recording exchanges-1.11.0.jsonl, llm.closed-port.execution_status.None;
 *           test/traps/null-states.test.ts, test/servers/quirks/busy-sandbox.test.ts
 * Cost:     0 requests while the status is not null; else reads for up to 2 s; while following or waiting
 *           a read every 500 ms, a missing status is reported 15 s later, and a failure of the sandbox 10 s later
 * Remove:   unknown
 */
import type { Clock } from '../../clock.ts';
import { NO_STATUS, type Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Links } from '../links.ts';
import { getConversation } from '../v1/calls.ts';

/** A status that is null for less than this is that of a busy sandbox. */
const NULL_FLASH_MS = 2_000;
/** A sandbox in ERROR for less than this may be busy. */
const ERROR_MS = 10_000;
/** As above, of a sandbox whose record has no status of the run. */
const NO_STATUS_MS = 15_000;

/** The record once its status is not null for a moment only. */
export async function afterNullFlash(links: Links, first: AppConversationRecord): Promise<AppConversationRecord> {
  if (!mayFlash(first)) return first;
  let record = first;
  const known = async (): Promise<true | undefined> => {
    record = await getConversation(links, first.id);
    return mayFlash(record) ? undefined : true;
  };
  await poll(known, { ...links, every: STEADY, until: links.clock.now() + NULL_FLASH_MS, readBefore: true });
  return record;
}

function mayFlash({ execution_status, sandbox_status: sandbox }: AppConversationRecord): boolean {
  return execution_status === null && (sandbox === 'RUNNING' || sandbox === 'ERROR');
}

/**
 * For a follower.
 * @returns a function to call with each record: whether it is that of a sandbox that may only be busy; `hasReason`: the
 *     events have a reason for the failure
 */
export function createBusyWatch(clock: Clock): (record: Conversation, hasReason: boolean) => boolean {
  let sinceMs = 0;
  let mostMs = 0;
  return (record, hasReason) => {
    const nowMs = clock.now();
    const limitMs = longestBusyMs(record, hasReason);
    if (limitMs !== mostMs) [sinceMs, mostMs] = [nowMs, limitMs];
    return nowMs - sinceMs < mostMs;
  };
}

function longestBusyMs({ status, execution_status, sandbox_status }: Conversation, hasReason: boolean): number {
  if (status === NO_STATUS) return NO_STATUS_MS;
  return execution_status === null && sandbox_status === 'error' && !hasReason ? ERROR_MS : 0;
}
