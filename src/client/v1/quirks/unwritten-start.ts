/**
 * Treats a start as successful whose task failed only with an error of the server's database.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv new` exits 1 though the agent runs: the app server and the webhook of the sandbox
 *           write the same record at once, and the database rejects one of them.
 * Evidence: interface 13 "Records written twice": 3 of 20 starts; test/client/v1/start.test.ts
 * Cost:     0 requests unless the task ends in such an error; then the record is read for up to 1.5
 *           s
 * Remove:   unknown
 */
import { isNotFound, nullIf } from '../../../base/errors.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../../protocol/v1/records.ts';
import { poll, QUICK } from '../../../runs/poll.ts';
import type { Links } from '../../shared/links.ts';

const UNWRITTEN = /IntegrityError|OperationalError|UNIQUE constraint|database is locked/i;

export function isOnlyUnwritten({ status, detail }: StartTaskRecord): boolean {
  return status === 'ERROR' && detail !== null && UNWRITTEN.test(detail);
}

/** Undefined where no record appears within 1.5 s; `read` throws `not-found` until then. */
export async function unwrittenConversation(
  links: Links,
  read: () => Promise<AppConversationRecord>,
  signal: AbortSignal,
): Promise<AppConversationRecord | undefined> {
  const until = links.clock.now() + 1_500;
  const written = async () => (await read().catch(nullIf(isNotFound))) ?? undefined;
  return await poll(written, { clock: links.clock, signal, every: QUICK, until });
}
