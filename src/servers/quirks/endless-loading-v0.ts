/**
 * Prints a notice when a V0 conversation has been loading for 30 s.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  `conv new --api v0` waits until its deadline without a word: a conversation with a replay that the server
 *           cannot read stays in `loading`, and one that waits for an unreachable model blocks all others for minutes.
 * Evidence: interface 3.1 and 12; recording exchanges-1.6.0.jsonl, v0.replay-bad; test/traps/v0.test.ts
 * Cost:     0 requests
 * Remove:   when servers with V0 are no longer supported
 */
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { Links } from '../links.ts';

const LONG_LOADING_MS = 30_000;

/** @returns a function to call while the conversation is loading; it prints the notice once */
export function createLoadingNotice(links: Links, request: NewConversation, id: string): () => void {
  const sinceMs = links.clock.now();
  let isPrinted = false;
  return () => {
    if (isPrinted || links.clock.now() - sinceMs < LONG_LOADING_MS) return;
    isPrinted = true;
    const why =
      request.replay === null
        ? 'a V0 server may take minutes while another conversation waits for its model'
        : 'a V0 server that cannot read a replay reports no error and keeps loading';
    links.notice(
      `the conversation has been loading for ${LONG_LOADING_MS / 1000} s: ${why}; stop it: acs conv stop ${id}`,
    );
  };
}
