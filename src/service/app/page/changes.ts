/** The changes that the page shows: those of the workspace while its sandbox runs, else those in the edit events. */
import { type ConversationDiff, diffOfEdits, diffOfPatch } from '../../../page/diffs.ts';
import { jsonOf } from '../../sandboxes/agent-client.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { workspacePath } from '../workspace-path.ts';
import type { EventReader } from './events.ts';

export async function pageChanges(
  context: AppContext,
  row: ConversationRow,
  events: EventReader,
): Promise<ConversationDiff> {
  return (await ofWorkspace(context, row, events)) ?? (await diffOfEdits(events.edits(), row));
}

const STATUSES = { ADDED: 'added', UPDATED: 'modified', DELETED: 'deleted', MOVED: 'renamed' } as const;

/** Null where the workspace cannot be compared, for whatever reason: the events have changes too. */
async function ofWorkspace(
  { store, supervisor }: AppContext,
  row: ConversationRow,
  { redact }: EventReader,
): Promise<ConversationDiff | null> {
  const { sandbox_id: sandbox, base_commit: ref } = row;
  if (sandbox === null || store.sandboxes.get(sandbox)?.status !== 'RUNNING') return null;
  const query = { path: workspacePath(row, '.'), ...(ref === null ? {} : { ref }) };
  const ask = (path: string) => supervisor.send(sandbox, { method: 'GET', path, query });
  const answers = await Promise.all([ask('/api/file/archive'), ask('/api/git/changes')]).catch(() => null);
  if (answers === null || answers.some(({ status }) => status !== 200)) return null;
  const [patch, list] = answers;
  const changes = jsonOf(list) as { status: keyof typeof STATUSES; path: string }[];
  return diffOfPatch(
    redact(patch.body.toString('utf8')),
    changes.map(({ status, path }) => ({ path: redact(path), status: STATUSES[status] })),
  );
}
