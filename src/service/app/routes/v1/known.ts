/** Look-ups of V1: conversations and start tasks that were created over V1, and no others (interface section 4). */
import { toDashedId } from '../../../../protocol/detail.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import type { SandboxRow } from '../../../storage/sandboxes.ts';
import type { StartTaskRow } from '../../../storage/start-tasks.ts';
import { refuse } from '../../../http/answer.ts';
import type { AppContext } from '../../context.ts';

/** Null: not found, or not of V1. */
export function findConversation({ store }: Pick<AppContext, 'store'>, id: string): ConversationRow | null {
  const row = store.conversations.get(id);
  return row?.dialect === 'V1' ? row : null;
}

/** Null: not found, or not of V1. */
export function findStartTask({ store }: AppContext, id: string): StartTaskRow | null {
  const task = store.startTasks.get(id);
  return task?.dialect === 'V1' ? task : null;
}

/** The running sandbox of a conversation of V1. Refuses with 404 or 409, in the words of interface section 4.4. */
export function runningSandbox(store: AppContext['store'], id: string): SandboxRow {
  const row = findConversation({ store }, id);
  if (row === null) throw refuse(404, `Conversation ${toDashedId(id)} not found`);
  const sandbox = row.sandbox_id === null ? null : store.sandboxes.get(row.sandbox_id);
  if (sandbox === null) throw refuse(404, `Sandbox not found for conversation ${toDashedId(id)}`);
  if (sandbox.status === 'RUNNING') return sandbox;
  const hint = `Use POST /api/v1/sandboxes/${sandbox.id}/resume to resume it first.`;
  throw refuse(409, `Sandbox is ${sandbox.status}. ${hint}`);
}
