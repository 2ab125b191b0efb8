/** What V1 knows: conversations and start tasks that were asked for over V1, and no others (interface section 4). */
import type { ConversationRow } from '../../../store/conversations.ts';
import type { StartTaskRow } from '../../../store/start-tasks.ts';
import type { AppContext } from '../../context.ts';

/** Null: there is none of V1. */
export function findConversation({ store }: AppContext, id: string): ConversationRow | null {
  const row = store.conversations.get(id);
  return row?.dialect === 'V1' ? row : null;
}

/** Null: there is none of V1. */
export function findStartTask({ store }: AppContext, id: string): StartTaskRow | null {
  const task = store.startTasks.get(id);
  return task?.dialect === 'V1' ? task : null;
}
