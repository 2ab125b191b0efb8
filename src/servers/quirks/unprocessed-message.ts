/**
 * Starts the run when a message was stored and no run processes it.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv send` exits 0 and the agent never answers: for seconds after the end of a run the sandbox stores a
 *           message and does not start a run.
 * Evidence: interface 13 "Late state"; rate unknown; test/servers/quirks/unprocessed-message.test.ts
 * Cost:     1 to 2 reads until the message is processed, for up to 1 s
 * Remove:   unknown
 */
import { isAppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import { executionWord } from '../v1/complete-record.ts';
import { runUntilAccepted } from './refused-run.ts';

/** With these statuses the server stores a message and the agent does not run. */
const STANDS: ReadonlySet<string> = new Set(['idle', 'paused', 'finished', 'stuck', 'error']);
/** A run that the message starts is visible within this time. */
const TAKEN_UP_MS = 1_000;

/**
 * The message is stored: a failure here is not reported as a failure to send, after which the caller would send it
 * twice.
 */
export async function runIfUnprocessed(links: Links, agent: AgentClient): Promise<void> {
  const isTakenUp = async (): Promise<true | undefined> => {
    const { execution_status: word } = await agent.conversation();
    return word === null || !STANDS.has(word) || !(await isMessageNewest(agent)) || undefined;
  };
  try {
    if (await poll(isTakenUp, { ...links, every: QUICK, until: links.clock.now() + TAKEN_UP_MS })) return;
    await runUntilAccepted(links, agent);
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.kind === 'needs-input') return;
    links.notice(
      `the message was stored, but the status of the run could not be read (${error.message}); if it does not run: acs conv resume ${agent.conversationId}`,
    );
    // The notice is printed before the error, so that the caller does not send the message a second time.
    if (error.kind === 'interrupted') throw error;
  }
}

/** Whether neither the agent nor the state of the run has moved since the user's newest message. */
async function isMessageNewest(agent: AgentClient): Promise<boolean> {
  const { items } = await agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null);
  const newest = items.find((event) => event.kind !== 'ConversationStateUpdateEvent' || executionWord(event) !== null);
  return newest?.kind === 'MessageEvent' && newest.source === 'user';
}
