/**
 * Treats a start as successful whose task failed only with an error of the server's database.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv new` exits 1 though the agent runs: the app server and the webhook of the sandbox write the same
 *           record at once, and the database rejects one of them.
 * Evidence: interface 13 "Records written twice": 3 of 20 starts; test/servers/quirks/unwritten-start.test.ts
 * Cost:     0 requests unless the task ends in such an error; then the record is read for up to 1.5 s
 * Remove:   unknown
 */
import { isNotFound } from '../../errors.ts';
import { isPassing } from '../../runs/deadline.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { Links } from '../links.ts';

/** The detail of a task whose conversation the server could not store. */
const UNWRITTEN = /IntegrityError|OperationalError|UNIQUE constraint|database is locked/i;

/** Whether a start failed in the database alone: its conversation may run. */
export function isOnlyUnwritten({ status, detail }: StartTaskRecord): boolean {
  return status === 'ERROR' && detail !== null && UNWRITTEN.test(detail);
}

/** The webhook of the sandbox has written the record within this time. */
const FOUND_MS = 1_500;

/**
 * The conversation that such a start began; undefined where there is no record of it.
 * @param read throws `not-found` while there is none
 */
export async function unwrittenConversation(
  links: Links,
  read: () => Promise<AppConversationRecord>,
  signal: AbortSignal,
): Promise<AppConversationRecord | undefined> {
  const until = links.clock.now() + FOUND_MS;
  const found = async (): Promise<AppConversationRecord | undefined> => {
    try {
      return await read();
    } catch (error) {
      const isAbsent = isNotFound(error);
      if (!isAbsent && (!isPassing(error) || links.clock.now() >= until)) throw error;
      return undefined;
    }
  };
  return await poll(found, { clock: links.clock, signal, every: QUICK, until });
}
