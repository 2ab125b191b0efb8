/**
 * Reads the pending actions after an answer until the answered ones are no longer among them.
 *
 * Servers:  early V1 agent servers; which releases is unknown
 * Symptom:  `conv confirm --reject` exits 0 and the action still waits: the agent server answers a rejection with a
 *           pause that changes nothing.
 * Evidence: interface 13 "Rejections"; test/servers/quirks/ignored-rejection.test.ts
 * Cost:     2 reads when the answer takes effect; else reads for 5 s
 * Remove:   unknown
 */
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import { NOT_TAKEN_MS } from '../confirmation.ts';
import type { Links } from '../links.ts';

/** Throws `conflict` when the actions still wait. */
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
