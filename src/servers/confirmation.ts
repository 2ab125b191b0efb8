/** What both dialects say about a confirmation that waits, does not wait, or is another one. */
import type { ConfirmationDecision, PendingAction } from '../domain/confirmation.ts';
import { AppError, isAppError } from '../errors.ts';
import { poll, QUICK } from '../runs/poll.ts';
import type { Links } from './links.ts';

/** An answer that shows no effect for this long had none; one that is only slow must not be meant for the next action. */
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

/**
 * Reads the pending actions after an answer until those answered are no longer among them. Throws `conflict` when they
 * still wait: early V1 agent servers answer a rejection with a pause that changes nothing (interface 13).
 */
export async function refuseStillPending(
  links: Links,
  id: string,
  { decision, answered }: { decision: ConfirmationDecision; answered: readonly PendingAction[] },
  pendingNow: () => Promise<PendingAction[]>,
): Promise<void> {
  const ids = new Set(answered.map(({ action_id }) => action_id));
  let still: PendingAction | undefined;
  await poll(
    async () => {
      const left = await pendingUnlessUnreadable(links, decision, pendingNow);
      still = left.find(({ action_id }) => ids.has(action_id));
      return still === undefined ? true : undefined;
    },
    { ...links, every: QUICK, until: links.clock.now() + NOT_TAKEN_MS },
  );
  if (still !== undefined) throw stillPending(id, decision, still);
}

/** The answer has been sent: a read that fails does not make that a failure. */
async function pendingUnlessUnreadable(
  links: Links,
  decision: ConfirmationDecision,
  pendingNow: () => Promise<PendingAction[]>,
): Promise<PendingAction[]> {
  try {
    return await pendingNow();
  } catch (error) {
    if (!isAppError(error)) throw error;
    links.notice(
      `the answer (${decision}) was sent; whether the server acted on it could not be read: ${error.message}`,
    );
    if (error.kind === 'interrupted') throw error;
    return [];
  }
}

function stillPending(id: string, decision: ConfirmationDecision, { action_id, text }: PendingAction): AppError {
  return new AppError(
    'conflict',
    `the server took the ${decision === 'reject' ? 'rejection' : 'acceptance'} of action ${action_id} and did not act on it: the action still waits (${text.split('\n', 1)[0] ?? ''})`,
    {
      hint: `nothing was carried out; look at it: acs conv confirm ${id}${decision === 'reject' ? '. A server that cannot reject keeps the action pending: pause the sandbox, or delete the conversation' : ''}`,
      data: { id, pending: [action_id] },
    },
  );
}
