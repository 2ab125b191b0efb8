/**
 * Removes the conversations of other sandboxes from a page that was searched by sandbox.
 *
 * Servers:  openhands-ai 1.4.0: its search ignores `sandbox_id__eq`, as any unknown parameter
 * Symptom:  `conv delete` and `sandbox delete` refuse (6) because of conversations in other
 *           sandboxes.
 * Evidence: 2 of 2 runs of the contract case `delete` on 1.4.0;
 *           test/client/v1/conversations.test.ts
 * Cost:     0 requests
 * Remove:   unknown
 */
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';

export function ofSandbox(
  records: readonly AppConversationRecord[],
  sandboxId: string,
): AppConversationRecord[] {
  return records.filter((record) => record.sandbox_id === sandboxId);
}
