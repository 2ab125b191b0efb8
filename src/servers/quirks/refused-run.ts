/**
 * Starts a run, again while the sandbox refuses it because the end of the last run is not complete.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv resume` exits 6 for seconds after the end of a run: the sandbox refuses `/run` with 409 until the
 *           last event of the run before is stored.
 * Evidence: interface 13 "Late state"; rate unknown; test/servers/quirks/refused-run.test.ts
 * Cost:     0 requests when the run is accepted; else 2 at each look, for up to 60 s
 * Remove:   unknown
 */
import { AppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { waitsForConfirmation } from '../confirmation.ts';
import type { Links } from '../links.ts';
import type { RunStart } from '../server.ts';
import { reasonOf, type Answer } from '../transport/answer.ts';
import { LATE_STATE_MS } from './ignored-acceptance.ts';
import { runUntilVisible } from './late-run.ts';

/** Throws `needs-input` while a confirmation is pending: a run would execute the action (interface 7.4). */
export async function runUntilAccepted(links: Links, agent: AgentClient): Promise<RunStart> {
  const id = agent.conversationId;
  const until = links.clock.now() + LATE_STATE_MS;
  let refusal: Answer | null = null;
  const start = async (): Promise<RunStart | undefined> => {
    const { execution_status: status } = await agent.conversation();
    if (status === 'waiting_for_confirmation') throw waitsForConfirmation(id);
    if (status === 'running' || (refusal !== null && status === 'finished')) return 'already-running';
    refusal = await runUntilVisible(links, agent);
    if (refusal === null) return 'started';
    const text = reasonOf(refusal);
    if (/confirm/i.test(text)) throw waitsForConfirmation(id);
    if (links.clock.now() < until) return undefined;
    throw new AppError('conflict', `the sandbox refuses to continue the run: ${text}`, {
      status: refusal.status,
      request: refusal.request,
      hint: `see its state: acs conv show ${id}`,
    });
  };
  return await poll(start, { ...links, every: QUICK });
}
