/**
 * Reads the record of a conversation whose start task is READY, again while it is not found.
 *
 * Servers:  unknown; some releases
 * Symptom:  `conv new` exits 5 though the conversation has started.
 * Evidence: rate unknown; test/traps/starting.test.ts
 * Cost:     0 requests when the first read finds the record; else reads for 1.5 s
 * Remove:   unknown
 */
import { isAppError, isPassing } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { Links } from '../links.ts';
import { getConversation } from '../v1/calls.ts';

/** The record of a started conversation is found within this time. */
const FOUND_MS = 1_500;

export async function recordOf(links: Links, id: string, signal: AbortSignal): Promise<AppConversationRecord> {
  const until = links.clock.now() + FOUND_MS;
  const found = async (): Promise<AppConversationRecord | undefined> => {
    try {
      return await getConversation(links, id);
    } catch (error) {
      const mayPass = isPassing(error) || (isAppError(error) && error.kind === 'not-found');
      if (!mayPass || links.clock.now() >= until) throw error;
      return undefined;
    }
  };
  return await poll(found, { clock: links.clock, signal, every: QUICK });
}

/** The id of the conversation that a start with an unwritten task began (unwritten-start.ts); null where there is no record of it. */
export async function idOfUnwritten(
  links: Links,
  conversationId: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  if (conversationId === null) return null;
  return await recordOf(links, conversationId, signal).then(
    ({ id }) => id,
    (error: unknown) => {
      if (isAppError(error) && error.kind === 'not-found') return null;
      throw error;
    },
  );
}
