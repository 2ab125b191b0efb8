/** What V1 waits for and how it goes on: the pending action, its answer, the run, waking (interface 4.4, 5.3, 7.4). */
import { poll, QUICK } from '../../runs/poll.ts';
import { AppError } from '../../errors.ts';
import { pendingActionsV1, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { nothingPending, refuseOtherAction, waitsForConfirmation } from '../confirmation.ts';
import type { Links } from '../links.ts';
import { allPages, byId, type Page } from '../../domain/pages.ts';
import { untilAccepted, LATE_STATE_MS } from '../quirks/ignored-acceptance.ts';
import { refuseStillPending } from '../quirks/ignored-rejection.ts';
import { runUntilVisible } from '../quirks/late-run.ts';
import type { ConfirmationAnswer, RunStart } from '../server.ts';
import { serverText, type Answer } from '../transport/answer.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation, searchAppEvents } from './calls.ts';
import { toEvent } from './event-records.ts';
import { lastWord } from './settled.ts';

const WAITING = 'waiting_for_confirmation';
/** The pending step is among the newest events; a page more covers what was said meanwhile. */
const MOST_READ = 200;
export async function pendingV1(
  links: Links,
  id: string,
  paused: 'refuse' | 'read-copy' = 'refuse',
): Promise<PendingAction[]> {
  const record = await getConversation(links, id);
  if (paused === 'read-copy' && record.sandbox_status === 'PAUSED') return await pendingInCopy(links, record);
  return await pendingAt(links, runningAgentOf(links, record));
}

async function pendingInCopy(links: Links, record: AppConversationRecord): Promise<PendingAction[]> {
  const word = record.execution_status ?? (await lastWord(links, record.id));
  if (word?.toLowerCase() !== WAITING) return [];
  return await unanswered(links, record.id, (page) =>
    searchAppEvents(links, record.id, { order: 'TIMESTAMP_DESC' }, page),
  );
}

async function pendingAt(links: Links, agent: AgentClient): Promise<PendingAction[]> {
  return (await agent.conversation()).execution_status === WAITING ? await unansweredAt(links, agent) : [];
}

/** The newest actions without an observation, whatever the state of the run. */
async function unansweredAt(links: Links, agent: AgentClient): Promise<PendingAction[]> {
  return await unanswered(links, agent.conversationId, (page) => agent.events({ order: 'TIMESTAMP_DESC' }, page));
}

async function unanswered(
  links: Links,
  id: string,
  newestPages: (page: string | null) => Promise<Page<EventRecord>>,
): Promise<PendingAction[]> {
  const newestFirst: ConversationEvent[] = [];
  for await (const event of allPages(byId, newestPages)) {
    newestFirst.push(toEvent(event, id, links.network.redaction));
    if (newestFirst.length >= MOST_READ) break;
  }
  return pendingActionsV1(newestFirst);
}

/** The server answers whatever waits when the call comes (interface 8.4), so what waits is read right before it. */
export async function answerV1(links: Links, id: string, answer: ConfirmationAnswer): Promise<PendingAction[]> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  const pending = await pendingAt(links, agent);
  if (pending.length === 0) throw nothingPending(id);
  refuseOtherAction(pending, answer.action_id);
  await agent.respond(answer.decision, answer.reason);
  if (answer.decision === 'reject') {
    // A pause in place of a rejection changes the state of the run, and leaves the action without an observation.
    const rejected = { decision: answer.decision, answered: pending };
    await refuseStillPending(links, id, rejected, () => unansweredAt(links, agent));
  } else if (!links.local) await untilAccepted(links, agent, pending, () => pendingAt(links, agent));
  return pending;
}

export async function runV1(links: Links, id: string): Promise<RunStart> {
  return await goOn(links, runningAgentOf(links, await getConversation(links, id)));
}

/**
 * Starts the run, again while the sandbox refuses it because the end of the last run is not complete.
 * A run while a confirmation waits would carry the action out (interface 7.4): throws `needs-input` then.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv resume` exits 6 for seconds after the end of a run: the sandbox refuses `/run` with 409 until the
 *           last event of the run before is stored.
 * Evidence: interface 13 "Late state"; rate unknown; test/servers/v1-answers.test.ts
 * Cost:     0 requests when the run is accepted; else 2 at each look, for up to 60 s
 * Remove:   unknown
 */
export async function goOn(links: Links, agent: AgentClient): Promise<RunStart> {
  const id = agent.conversationId;
  const until = links.clock.now() + LATE_STATE_MS;
  let refusal: Answer | null = null;
  const start = async (): Promise<RunStart | undefined> => {
    const { execution_status: status } = await agent.conversation();
    if (status === WAITING) throw waitsForConfirmation(id);
    if (status === 'running' || (refusal !== null && status === 'finished')) return 'already-running';
    refusal = await runUntilVisible(links, agent);
    if (refusal === null) return 'started';
    const text = serverText(refusal.body) ?? 'it names no reason';
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

export async function wakeV1(links: Links, id: string, resume: (sandboxId: string) => Promise<void>): Promise<void> {
  const { sandbox_id: sandboxId, sandbox_status: status } = await getConversation(links, id);
  if (sandboxId === null || status === 'MISSING') {
    throw new AppError('conflict', `the sandbox of conversation ${id} is gone, it cannot be woken`, {
      hint: `its events stay readable: acs conv events ${id}`,
      data: { sandbox_status: 'missing' },
    });
  }
  await resume(sandboxId);
}
