/**
 * Waits until the events report a state of the agent after a change of it.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  `conv resume --wait` and `conv send --accept --wait` end at once with the state before: the server accepts the change
 *           before its agent does.
 * Evidence: rate unknown; test/servers/v0/answers.test.ts
 * Cost:     1 read before the change and 1 or more after it, for up to 10 s
 * Remove:   when servers with V0 are no longer supported
 */
import { isAppError } from '../../errors.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { Links } from '../links.ts';
import { eventsForwardV0 } from '../v0/calls.ts';
import { agentStateOf } from '../v0/records.ts';

/** An accepted change is reported within this time, also on a busy machine. */
const STATE_REPORTED_MS = 10_000;

/** @param newest id of the newest event before the change */
export async function untilStateReported(links: Links, info: ConversationInfo, newest: number): Promise<void> {
  const isReported = async (): Promise<true | undefined> => {
    try {
      for await (const event of eventsForwardV0(links, info, newest + 1))
        if (event.id > newest && agentStateOf(event) !== null) return true;
      return undefined;
    } catch (error) {
      // The change was accepted: a read that fails does not make it a failure.
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
      return true;
    }
  };
  await poll(isReported, { ...links, every: QUICK, until: links.clock.now() + STATE_REPORTED_MS });
}
