/**
 * Finds the pending action in the events where the state of the agent no longer reports it.
 *
 * Servers:  openhands-ai with V0; rate unknown
 * Symptom:  `conv wait` waits until its deadline, and `conv send` sends a message: the agent was
 *           paused and continued while an action was pending, and its state is `running`.
 * Evidence: read in the source of 1.6.0 (a change of the state keeps the pending action);
 *           test/client/v0/conversations.test.ts
 * Cost:     0 requests
 * Remove:   when servers with V0 are no longer supported
 */
import { textAt } from '../../../domain/event-payload.ts';
import type { EventRecordV0 } from '../../../protocol/v0/records.ts';

const KEEPS = new Set([null, 'awaiting_user_confirmation', 'running', 'paused']);

/** To be called with each event in order; returns whether an action is pending. */
export function createPendingWatch(): (event: EventRecordV0, state: string | null) => boolean {
  let pending: number | null = null;
  return ({ id, action, observation, source, payload }, state) => {
    const confirmation = textAt(payload, 'args', 'confirmation_state');
    if (action !== null && source === 'agent')
      pending = confirmation === 'awaiting_confirmation' ? id : null;
    const isAnswered =
      observation !== null && observation !== 'null' && payload['cause'] === pending;
    const isMessage = action === 'message' && source === 'user';
    if (isAnswered || isMessage || !KEEPS.has(state)) pending = null;
    return pending !== null;
  };
}
