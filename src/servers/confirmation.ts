/** What both dialects say about a confirmation that waits, does not wait, or is another one. */
import type { PendingAction } from '../domain/confirmation.ts';
import { AppError } from '../errors.ts';

/**
 * An answer without an effect for this long had none; the limit covers slow servers, so that no next action is
 * answered.
 */
export const NOT_TAKEN_MS = 5_000;

export function nothingPending(id: string): AppError {
  return new AppError('conflict', `conversation ${id} waits for no confirmation`, {
    hint: `see where it stands: acs conv show ${id}`,
    data: { id, pending: [] },
  });
}

/** Throws `conflict` unless the action that was meant is one of those that wait. Null: any will do. */
export function refuseOtherAction(pending: readonly PendingAction[], meant: string | null): void {
  if (meant === null || pending.some((action) => action.action_id === meant)) return;
  const ids = pending.map((action) => action.action_id);
  throw new AppError('conflict', `another action waits now: ${ids.join(', ')}, not ${meant.slice(0, 100)}`, {
    hint: 'look at it before you answer: acs conv confirm <id>',
    data: { pending: ids },
  });
}

export function waitsForConfirmation(id: string): AppError {
  return new AppError(
    'needs-input',
    `conversation ${id} waits for a confirmation: going on would carry the action out`,
    {
      hint: `look at the action: acs conv confirm ${id}`,
      data: { id, waiting_for: 'confirmation' },
    },
  );
}
