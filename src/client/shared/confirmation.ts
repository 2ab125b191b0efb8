import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import { AppError } from '../../base/errors.ts';
import type { Links } from './links.ts';
import { untilEffect, type LateChange } from './quirks/late-effect.ts';
import { cut } from '../../base/text/well-formed.ts';

export function refuseOtherAction(
  id: string,
  pending: readonly PendingAction[],
  named: string | null,
): void {
  const ids = pending.map((action) => action.action_id);
  if (ids.length === 0)
    throw new AppError('conflict', `conversation ${id} has no pending action`, {
      hint: `see its status: acs conv show ${id}`,
      data: { id, pending: [] },
    });
  if (named === null || ids.includes(named)) return;
  throw new AppError(
    'conflict',
    `another action is pending: ${ids.join(', ')}, not ${cut(named, 100)}`,
    {
      hint: `see the pending action: acs conv confirm ${id}`,
      data: { pending: ids },
    },
  );
}

export async function answerUntilTaken(
  links: Links,
  id: string,
  { decision, answered }: { decision: ConfirmationDecision; answered: readonly PendingAction[] },
  change: Pick<LateChange, 'send' | 'again' | 'isVisible'>,
): Promise<void> {
  const noun = decision === 'accept' ? 'acceptance' : 'rejection';
  const effect = await untilEffect(links, {
    ...change,
    done: `the ${noun} was sent`,
    next: `acs conv confirm ${id}`,
  });
  if (effect === 'visible') return;
  const [text] = (answered[0]?.text ?? '').split('\n', 1);
  const state = `the action still waits (${text})`;
  const message = `the server accepted the ${noun} and did not act on it: ${state}`;
  const then = 'If the server cannot reject, pause the sandbox or delete the conversation';
  throw new AppError('conflict', message, {
    hint: `nothing was carried out; see the action: acs conv confirm ${id}. ${then}`,
    data: { id, pending: answered.map(({ action_id }) => action_id) },
  });
}

export function waitsForConfirmation(id: string): AppError {
  const effect = 'resuming it would execute the pending action';
  const message = `conversation ${id} waits for a confirmation: ${effect}`;
  return new AppError('needs-input', message, {
    hint: `see the pending action: acs conv confirm ${id}`,
    data: { id, waiting_for: 'confirmation' },
  });
}
