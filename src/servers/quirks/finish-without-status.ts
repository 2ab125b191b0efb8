/**
 * Reads whether the events end with the `finish` observation, without the final status event.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv show` and `conv wait` report a finished run as paused or archived: a sandbox that exits right after
 *           the run has not sent the last status.
 * Evidence: test/servers/quirks/finish-without-status.test.ts; rate unknown
 * Cost:     0 requests unless the sandbox does not run and the newest status is `running`; then 1 read
 * Remove:   unknown
 */
import type { Links } from '../links.ts';
import { searchAppEvents } from '../v1/calls.ts';

export async function endsWithFinish(links: Links, id: string): Promise<boolean> {
  const { items } = await searchAppEvents(links, id, { order: 'TIMESTAMP_DESC', limit: 10 }, null);
  const newest = items.find(({ kind }) => kind !== 'ConversationStateUpdateEvent');
  return newest?.kind === 'ObservationEvent' && newest.payload['tool_name'] === 'finish';
}
