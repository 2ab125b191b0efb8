/**
 * Accepts an action again while the sandbox has not acted on the acceptance.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv confirm` exits 0 and the action still waits: for seconds after the status changes the sandbox
 *           answers an acceptance with 200 and does nothing.
 * Evidence: interface 13 "Late state"; rate unknown; test/servers/quirks/ignored-acceptance.test.ts
 * Cost:     1 to 2 reads after each acceptance
 * Remove:   unknown
 */
import type { PendingAction } from '../../domain/confirmation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { NOT_TAKEN_MS } from '../confirmation.ts';
import type { Links } from '../links.ts';

/** The end of a run is complete within this time, also on a busy machine. */
export const LATE_STATE_MS = 60_000;

export async function untilAccepted(
  links: Links,
  agent: AgentClient,
  accepted: readonly PendingAction[],
  pendingNow: () => Promise<PendingAction[]>,
): Promise<void> {
  try {
    await acceptAgain(links, agent, accepted, pendingNow);
  } catch (error) {
    // Without the notice the user would think that the action is still pending.
    if (isAppError(error) && error.kind === 'interrupted')
      links.notice('the acceptance has been sent; whether the sandbox acts on it was not seen');
    throw error;
  }
}

/** The pending action is read right before each acceptance, so that the next action is never accepted. */
async function acceptAgain(
  links: Links,
  agent: AgentClient,
  accepted: readonly PendingAction[],
  pendingNow: () => Promise<PendingAction[]>,
): Promise<void> {
  const ids = new Set(accepted.map(({ action_id }) => action_id));
  const { clock } = links;
  let sentAtMs = clock.now();
  const until = sentAtMs + LATE_STATE_MS;
  const isAccepted = async (): Promise<true | undefined> => {
    if (!(await stillWaits(pendingNow, ids))) return true;
    if (clock.now() - sentAtMs < NOT_TAKEN_MS || clock.now() >= until) return undefined;
    await agent.respond('accept', null);
    sentAtMs = clock.now();
    return undefined;
  };
  if (await poll(isAccepted, { ...links, every: QUICK, until })) return;
  throw new AppError('server', 'the server takes the acceptance and does not act on it: the action still waits', {
    hint: `see where it stands: acs conv confirm ${agent.conversationId}`,
    retryable: true,
  });
}

/**
 * The acceptance has been sent: a read that fails does not make it a failure. Where an action waits that was not accepted,
 * the run has continued, even when an accepted action has no observation.
 */
async function stillWaits(pendingNow: () => Promise<PendingAction[]>, ids: ReadonlySet<string>): Promise<boolean> {
  try {
    const pending = await pendingNow();
    return pending.length > 0 && pending.every(({ action_id }) => ids.has(action_id));
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return false;
  }
}
