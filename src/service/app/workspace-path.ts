import path from 'node:path';
import type { ConversationRow } from '../storage/conversations.ts';

/** A path in the workspace of a conversation: a relative one is resolved against its working directory. */
export function workspacePath(row: Pick<ConversationRow, 'working_dir'>, given: string): string {
  if (path.posix.isAbsolute(given)) return given;
  return path.posix.join(row.working_dir ?? '/', given);
}
