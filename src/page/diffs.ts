/** The changes of a conversation: from the patch of its workspace, or from what its edit events report. */
import type { Conversation } from '../domain/conversation.ts';
import { createEditLog, RECONSTRUCTED } from '../domain/edits.ts';
import { changedFiles, type ChangedFile } from '../domain/patch.ts';
import type { PageDiff } from './sections.ts';
import type { PageEvent } from './steps.ts';

/** Of a longer patch the beginning is shown. */
const MOST_CHARACTERS = 4_000_000;

/** @param patch as git prints it */
export function diffOfPatch(patch: string, changes: readonly Pick<ChangedFile, 'path' | 'status'>[]): PageDiff {
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
): Promise<PageDiff> {
  const edits = createEditLog();
  for await (const page of events) for (const event of page) edits.add(event);
  const diff = await edits.diff(conversation);
  return {
    source: 'edit-events',
    files: changedFiles(diff),
    omissions: [RECONSTRUCTED, ...diff.omissions],
    patch: diff.patch,
  };
}
