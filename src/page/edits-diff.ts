/** The changes that edit events report, where the workspace is not compared. */
import type { Conversation } from '../domain/conversation.ts';
import { createEditLog, RECONSTRUCTED } from '../domain/edits.ts';
import { changedFiles } from '../domain/patch.ts';
import type { PageDiff } from './sections.ts';
import type { PageEvent } from './steps.ts';

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
