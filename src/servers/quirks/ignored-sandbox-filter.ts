/**
 * Removes the conversations of other sandboxes from a page that was searched by sandbox.
 *
 * Servers:  releases whose search does not know `sandbox_id__eq`, an unknown parameter being ignored; which ones is
 *           unknown
 * Symptom:  `sandbox delete` refuses (6) because of a run in another sandbox, and `conv delete --with-sandbox` lists
 *           conversations that it does not delete.
 * Evidence: test/servers/quirks/ignored-sandbox-filter.test.ts; rate unknown
 * Cost:     0 requests
 * Remove:   unknown
 */
import type { AppConversationRecord } from '../../protocol/v1/records.ts';

export function ofSandbox(
  records: readonly AppConversationRecord[],
  sandboxId: string | undefined,
): AppConversationRecord[] {
  return records.filter((record) => sandboxId === undefined || record.sandbox_id === sandboxId);
}
