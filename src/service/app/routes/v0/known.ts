/** Finding the conversation that a V0 path names. */
import type { Context } from 'hono';
import { toHexId } from '../../../../protocol/detail.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import type { SandboxRow } from '../../../storage/sandboxes.ts';
import { HttpError, refuse } from '../../../http/answer.ts';
import type { AppContext } from '../../context.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';

/** The id as it was given; 400 for one that could be a path. */
export function givenId(c: Context): string {
  const id = c.req.param('conversation_id') ?? '';
  if (id.length > 100) throw refuse(400, 'Conversation ID is too long');
  if (/\.\.|[/\\\u0000]/.test(id)) throw refuse(400, 'Conversation ID contains invalid path characters');
  return id;
}

/** A conversation of either dialect: V0 lists, shows, renames and deletes those of V1 too. Null: not found. */
export function findConversation(context: AppContext, c: Context): ConversationRow | null {
  const id = toHexId(givenId(c));
  return id === null ? null : context.store.conversations.get(id);
}

/** A conversation of V0; 404 with a detail for any other: V0 does not reach the runs of V1. */
export function knownConversation(context: AppContext, c: Context): ConversationRow {
  const row = findOwn(context, c);
  if (row === null) throw refuse(404, `Conversation ${givenId(c)} not found`);
  return row;
}

/** A conversation of V0; null for any other. */
export function findOwn(context: AppContext, c: Context): ConversationRow | null {
  const row = findConversation(context, c);
  return row?.dialect === 'V0' ? row : null;
}

/** A conversation whose sandbox runs; 404 `{"error"}` otherwise, as where a genuine server has no runtime. */
export function withRuntime(context: AppContext, c: Context): { row: ConversationRow; sandbox: SandboxRow } {
  const row = knownConversation(context, c);
  const sandbox = row.sandbox_id === null ? null : context.store.sandboxes.get(row.sandbox_id);
  if (sandbox?.status !== 'RUNNING' || row.start_state !== 'ready') {
    throw new HttpError(404, { error: `Runtime not available for conversation ${row.id}` });
  }
  return { row, sandbox };
}

/** Turns a sandbox that cannot be reached into an answer in the form of V0. */
export async function reached<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw new HttpError(503, { error: error.message });
    throw error;
  }
}
