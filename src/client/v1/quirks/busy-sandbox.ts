/**
 * Reads a record again whose status is null, and marks the status of a sandbox that may only be
 * busy (`may_recover`): a wait does not end with it, and a follower delivers it once it lasts.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv show` reports no status or `failed`, and `conv wait` exits 1, while the run
 *           continues: the record of a busy sandbox has a null status for a second, and a sandbox
 *           that does not answer its health check is in ERROR until it does.
 * Evidence: interface 4.3 and 5.2; recording exchanges-1.11.0.jsonl,
 *           llm.closed-port.execution_status.None; test/misbehaviour/null-states.test.ts,
 *           test/client/quirks/busy-sandbox.test.ts
 * Cost:     0 requests while the status is not null; else reads for up to 2 s; while following or
 *           waiting a read every 500 ms, a missing status is reported 15 s later, and a failure of
 *           the sandbox 10 s later
 * Remove:   unknown
 */
import type { Clock } from '../../../base/clock.ts';
import { NO_STATUS, type Conversation } from '../../../domain/conversation.ts';
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import { poll, STEADY } from '../../../runs/poll.ts';
import type { Links } from '../../shared/links.ts';
import { getConversation } from '../calls.ts';

export async function afterNullFlash(
  links: Links,
  first: AppConversationRecord,
): Promise<AppConversationRecord> {
  let record = first;
  const isNull = ({ execution_status, sandbox_status: sandbox }: AppConversationRecord) =>
    execution_status === null && (sandbox === 'RUNNING' || sandbox === 'ERROR');
  if (!isNull(first)) return first;
  const isKnown = async () => {
    record = await getConversation(links, first.id);
    return !isNull(record) || undefined;
  };
  await poll(isKnown, {
    ...links,
    every: STEADY,
    until: links.clock.now() + 2_000,
    readBefore: true,
  });
  return record;
}

export function createBusyWatch(
  clock: Clock,
): (record: Conversation, hasReason: boolean) => boolean {
  let sinceMs = 0;
  let mostMs = 0;
  return ({ status, execution_status, sandbox_status }, hasReason) => {
    const nowMs = clock.now();
    const isInError = execution_status === null && sandbox_status === 'error' && !hasReason;
    const errorMs = isInError ? 10_000 : 0;
    // Longer than these a sandbox without a status of the run, or in ERROR, is not only busy.
    const limitMs = status === NO_STATUS ? 15_000 : errorMs;
    if (limitMs !== mostMs) [sinceMs, mostMs] = [nowMs, limitMs];
    return nowMs - sinceMs < mostMs;
  };
}
