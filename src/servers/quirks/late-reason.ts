/**
 * Waits for the reason of a failure that only the app server can return.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv wait` and `follow` report a failure without its reason: the error event reaches the app server up to
 *           30 s after the status, and the sandbox is gone.
 * Evidence: interface 12; test/servers/v1/follow.test.ts, "waits for a reason that the app server learns later than the
 *           status"
 * Cost:     0 requests when the sandbox returns the reason; else reads for up to 30 s
 * Remove:   unknown
 */
import type { Reason } from '../../domain/conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Links, WebUrl } from '../links.ts';
import { completeRecord } from '../v1/complete-record.ts';

const REASON_DELAY_MS = 30_000;

/** For a record whose reason was just looked for. Null where no reason arrives in this time. */
export async function lateReason(links: Links, record: AppConversationRecord, webUrl: WebUrl): Promise<Reason | null> {
  const until = links.clock.now() + REASON_DELAY_MS;
  const read = async (): Promise<Reason | undefined> =>
    (await completeRecord(links, record, webUrl)).reason ?? undefined;
  return (await poll(read, { ...links, every: STEADY, until, readBefore: true })) ?? null;
}
