/** Errors that both dialects share: a pending action, no pending action, another pending action. */
import type { PendingAction } from '../domain/confirmation.ts';
import { AppError } from '../errors.ts';

/**
 * An action that is still pending this long after its answer was not answered. The limit covers slow servers, so that
 * the answer is not sent a second time to the next action.
 */
export const NOT_TAKEN_MS = 5_000;

export function nothingPending(id: string): AppError {
  return new AppError('conflict', `conversation ${id} has no pending action`, {
    hint: `see its status: acs conv show ${id}`,
    data: { id, pending: [] },
  });
}

/** Throws `conflict` unless the named action is pending. Null names any pending action. */
export function refuseOtherAction(pending: readonly PendingAction[], named: string | null): void {
  if (named === null || pending.some((action) => action.action_id === named)) return;
  const ids = pending.map((action) => action.action_id);
  throw new AppError('conflict', `another action is pending: ${ids.join(', ')}, not ${named.slice(0, 100)}`, {
    hint: 'see the pending action: acs conv confirm <id>',
    data: { pending: ids },
  });
}

export function waitsForConfirmation(id: string): AppError {
  return new AppError(
    'needs-input',
    `conversation ${id} waits for a confirmation: resuming it would execute the pending action`,
    {
      hint: `see the pending action: acs conv confirm ${id}`,
      data: { id, waiting_for: 'confirmation' },
    },
  );
}
