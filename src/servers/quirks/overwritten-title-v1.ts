/**
 * Renames a V1 conversation that has no generated title yet, until the record keeps the title.
 *
 * Servers:  openhands-ai 1.11.0; 1.6.0 generates titles in the same way
 * Symptom:  `conv rename` exits 0, and seconds after the first message the server overwrites the title with the one
 *           that the sandbox generated.
 * Evidence: interface 13 "Records written twice"; rate unknown; test/servers/quirks/overwritten-title-v1.test.ts
 * Cost:     1 read before; nothing more once the conversation has a generated title, else 1 request to the sandbox and
 *           1 read, up to 3 times
 * Remove:   unknown
 */
import { isAppError } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import { getConversation } from '../v1/calls.ts';
import { quietly } from '../v1/complete-record.ts';

/** The server overwrites the title once; for a server that changes every title the tries end. */
const TRIES = 3;
/** The title of a conversation until its server has generated one. */
const UNTITLED = /^Conversation [0-9a-f]{5}([0-9a-f]{27})?$/;

/** Whether the server may still generate a title for the conversation. */
export function mayGetTitle({ title }: AppConversationRecord): boolean {
  return title === null || UNTITLED.test(title);
}

/**
 * The sandbox gets the title after the record, and only while the server may still generate one: at a change of its
 * title the server recreates the record, with the current time and no longer public.
 * @param agent null: the sandbox cannot be reached, or its server passes the title on
 * @param patch the record as the server answers; null where its answer has none
 */
export async function renameUntilKept(
  links: Links,
  id: string,
  title: string,
  agent: AgentClient | null,
  patch: () => Promise<AppConversationRecord | null>,
): Promise<AppConversationRecord> {
  for (let tries = 1; ; tries++) {
    const answered = await patch();
    if (answered !== null && agent !== null) await renameAtSandbox(agent, title);
    const record = await recordNow(links, id, answered);
    if (record.title === title || tries === TRIES) return record;
  }
}

/** A failure at the sandbox does not make the rename a failure. */
async function renameAtSandbox(agent: AgentClient, title: string): Promise<void> {
  await quietly(async () => {
    await agent.rename(title);
    return null;
  });
}

/**
 * The server has stored the title: where its answer had the record, a read that fails does not make the rename a
 * failure.
 */
async function recordNow(
  links: Links,
  id: string,
  answered: AppConversationRecord | null,
): Promise<AppConversationRecord> {
  try {
    return await getConversation(links, id);
  } catch (error) {
    const isPassing = isAppError(error) && error.kind !== 'interrupted' && error.kind !== 'not-found';
    if (answered === null || !isPassing) throw error;
    return answered;
  }
}
