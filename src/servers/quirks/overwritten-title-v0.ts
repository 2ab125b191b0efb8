/**
 * Renames a V0 conversation and reads the title again while the agent works.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  `conv rename` exits 0, and the conversation then has a generated title: each event of a run writes the
 *           record back as it was read before.
 * Evidence: test/servers/quirks/overwritten-title-v0.test.ts; rate unknown
 * Cost:     0 requests when the agent does not work; else 2 reads after 300 ms and 700 ms
 * Remove:   when servers with V0 are no longer supported
 */
import { isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { isWorking } from '../../runs/status.ts';
import type { Links } from '../links.ts';

/**
 * With each event of a run release 1.6.0 writes the record back as it read it before, with a title that a model made up
 * in between: one that was set meanwhile is lost. So the title is read again while the agent works.
 */
const LOOK_AGAIN_MS = [300, 700];

export interface RenamedV0 {
  /** Sends the title. */
  patch(): Promise<void>;
  /** The conversation as it is now. */
  look(): Promise<Conversation>;
}

export async function renameV0(links: Links, title: string, { patch, look }: RenamedV0): Promise<Conversation> {
  await patch();
  let conversation = await look();
  for (const waitMs of LOOK_AGAIN_MS) {
    if (conversation.title === title && !isWorking(conversation.status)) break;
    await links.clock.sleep(waitMs, links.signal);
    conversation = await lookAgain(look, conversation);
    if (conversation.title === title) continue;
    await patch();
    conversation = await lookAgain(look, { ...conversation, title });
  }
  return conversation;
}

/** The title has been accepted: a read that fails does not make the rename a failure. */
async function lookAgain(look: () => Promise<Conversation>, known: Conversation): Promise<Conversation> {
  try {
    return await look();
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted' || error.kind === 'not-found') throw error;
    return known;
  }
}
