/**
 * Ends a follow when the sandbox no longer has the conversation.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv wait` and `follow` never end after the conversation was deleted at its agent
 *           server: the record stays, with sandbox RUNNING and a null status.
 * Evidence: interface 4.3; test/client/v1/follow.test.ts
 * Cost:     0 requests while the status is not null for 30 s; then 1 at each look
 * Remove:   unknown
 */
import type { Clock } from '../../../base/clock.ts';
import { AppError, isFailure } from '../../../base/errors.ts';
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import type { AgentClient } from '../../agent-server/client.ts';
import { normalId } from '../../../domain/ids.ts';

const LOST_AFTER_MS = 30_000;

export function createLostWatch(clock: Clock) {
  let sinceMs: number | null = null;
  return async (record: AppConversationRecord, agent: AgentClient | null) => {
    const isBlank = record.execution_status === null && record.sandbox_status === 'RUNNING';
    sinceMs = isBlank ? (sinceMs ?? clock.now()) : null;
    if (sinceMs === null || clock.now() - sinceMs < LOST_AFTER_MS) return;
    try {
      await agent?.conversation();
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.kind !== 'not-found') return;
      const id = normalId(record.id);
      throw new AppError(
        'not-found',
        `the sandbox no longer has conversation ${id}: it was deleted there`,
      );
    }
  };
}
