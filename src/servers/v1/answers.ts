/** Confirmations and resumption over V1: pending action, answer, run, resume (interface 4.4, 5.3, 7.4). */
import { AppError } from '../../errors.ts';
import { pendingActionsV1, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { nothingPending, refuseOtherAction } from '../confirmation.ts';
import type { Links } from '../links.ts';
import { allPages, byId, type Page } from '../../domain/pages.ts';
import { untilAccepted } from '../quirks/ignored-acceptance.ts';
import { refuseStillPending } from '../quirks/ignored-rejection.ts';
import { runUntilAccepted } from '../quirks/refused-run.ts';
import type { ConfirmationAnswer, RunStart } from '../server.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation, searchAppEvents } from './calls.ts';
import { toEvent } from './event-records.ts';
import { lastWord } from './complete-record.ts';

const WAITING = 'waiting_for_confirmation';
/** The pending step is among the newest events; a page more covers the messages since. */
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

/**
 * The server applies an answer to the actions pending at that moment (interface 8.4), so they are read right before.
 */
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
  } else await untilAccepted(links, agent, pending, () => pendingAt(links, agent));
  return pending;
}

export async function runV1(links: Links, id: string): Promise<RunStart> {
  return await runUntilAccepted(links, runningAgentOf(links, await getConversation(links, id)));
}

export async function startSandboxV1(
  links: Links,
  id: string,
  resume: (sandboxId: string) => Promise<void>,
): Promise<void> {
  const { sandbox_id: sandboxId, sandbox_status: status } = await getConversation(links, id);
  if (sandboxId === null || status === 'MISSING') {
    throw new AppError('conflict', `the sandbox of conversation ${id} is gone and cannot be started`, {
      hint: `its events stay readable: acs conv events ${id}`,
      data: { sandbox_status: 'missing' },
    });
  }
  await resume(sandboxId);
}
