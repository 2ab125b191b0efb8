/**
 * Reads the conversation of a start task that shows no progress.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv new` waits until its deadline: after a database error the task stays at
 *           STARTING_CONVERSATION while the conversation runs.
 * Evidence: interface 4.2; recording exchanges-1.11.0.jsonl, endless-task;
 *           test/client/v1/start.test.ts
 * Cost:     0 requests while the task changes; else 1 each 20 s
 * Remove:   unknown
 */
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import type { Links } from '../../shared/links.ts';
import { CONVERSATIONS, find } from '../calls.ts';

export const NO_PROGRESS_MS = 20_000;

export async function startedConversation(
  links: Links,
  id: string | null,
): Promise<AppConversationRecord | null> {
  const record = id === null ? null : await find(links, CONVERSATIONS, id);
  return record === null || record.execution_status === null ? null : record;
}
