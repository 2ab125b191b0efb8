/**
 * Ends a follow when the sandbox no longer has the conversation.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv wait` and `follow` never end after the conversation was deleted at its agent server: the record
 *           stays, with sandbox RUNNING and a null status.
 * Evidence: interface 4.3; test/servers/quirks/lost-at-sandbox.test.ts
 * Cost:     0 requests while the status is not null for 30 s; then 1 at each look
 * Remove:   unknown
 */
import type { Clock } from '../../clock.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { normalId } from '../ids.ts';

/** The status of a busy sandbox is null for a second; this is longer. */
const LOST_AFTER_MS = 30_000;

/** A function to call with each record that is read; it throws `not-found`. */
export function createLostWatch(
  clock: Clock,
): (record: AppConversationRecord, agent: AgentClient | null) => Promise<void> {
  let sinceMs: number | null = null;
  return async (record, agent) => {
    const isBlank = record.execution_status === null && record.sandbox_status === 'RUNNING';
    sinceMs = isBlank ? (sinceMs ?? clock.now()) : null;
    if (sinceMs !== null && clock.now() - sinceMs >= LOST_AFTER_MS) await refuseLost(agent, record);
  };
}

async function refuseLost(agent: AgentClient | null, record: AppConversationRecord): Promise<void> {
  try {
    await agent?.conversation();
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    if (error.kind !== 'not-found') return;
    throw new AppError(
      'not-found',
      `the sandbox no longer has conversation ${normalId(record.id)}: it was deleted there`,
    );
  }
}
