import path from 'node:path';
import type { ConversationRow } from '../storage/conversations.ts';

/** A path in a conversation's workspace: relative ones count from its working directory. */
export function placeIn(row: Pick<ConversationRow, 'working_dir'>, given: string): string {
  if (path.posix.isAbsolute(given)) return given;
  return path.posix.join(row.working_dir ?? '/', given);
}
