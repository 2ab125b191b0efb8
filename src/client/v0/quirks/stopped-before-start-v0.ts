/**
 * Distinguishes a V0 conversation that has not started yet from one that was stopped.
 *
 * Servers:  openhands-ai with V0 as the cloud served it (2025); rate unknown
 * Symptom:  `conv new --api v0 --wait` exits 6 at once: the record has STOPPED until the
 *           conversation starts.
 * Evidence: interface 3.1; test/client/quirks/stopped-before-start-v0.test.ts
 * Cost:     0 requests
 * Remove:   when servers with V0 are no longer supported
 */
import type { ConversationInfo } from '../../../protocol/v0/records.ts';

export function isStopped({ status }: Pick<ConversationInfo, 'status'>): boolean {
  return status.toUpperCase() === 'STOPPED';
}

export function createBeforeStartCheck(): (
  info: Pick<ConversationInfo, 'status'>,
  eventCount: number,
) => boolean {
  let hasStarted = false;
  return (info, eventCount) => {
    hasStarted ||= eventCount > 0 || !isStopped(info);
    return !hasStarted;
  };
}
