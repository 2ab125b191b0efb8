/** The changes of a conversation: from the patch of its workspace, or from what its edit events report. */
import type { Conversation } from '../domain/conversation.ts';
import { type ConversationDiff, createEditLog, reconstructedDiff } from '../domain/edits.ts';
import { changedFiles, type ChangedFile } from '../domain/patch.ts';
import type { PageEvent } from './steps.ts';

export type { ConversationDiff };

/** Of a longer patch the beginning is shown. */
const MOST_CHARACTERS = 4_000_000;

/** @param patch as git prints it */
export function diffOfPatch(patch: string, changes: readonly Pick<ChangedFile, 'path' | 'status'>[]): ConversationDiff {
  const isLong = patch.length > MOST_CHARACTERS;
  const shown = Buffer.from(isLong ? patch.slice(0, MOST_CHARACTERS) : patch);
  return {
    source: 'workspace',
    files: changedFiles({ patch: shown, changes }),
    omissions: isLong ? ['the diff is too long for this page; acs conv diff prints all of it'] : [],
    patch: shown,
  };
}

/** @param events oldest first */
export async function diffOfEdits(
  events: AsyncIterable<readonly PageEvent[]>,
  conversation: Pick<Conversation, 'id' | 'sandbox_id' | 'repository'>,
): Promise<ConversationDiff> {
  const edits = createEditLog();
  for await (const page of events) for (const event of page) edits.add(event);
  return await reconstructedDiff(edits, conversation);
}
