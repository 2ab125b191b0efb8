/** What V1 waits for and how it goes on: the pending action, its answer, the run, waking (interface 4.4, 5.3, 7.4). */
import { poll, QUICK } from '../../runs/poll.ts';
import { AppError, isAppError } from '../../errors.ts';
import { pendingActionsV1, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import {
  nothingPending,
  NOT_TAKEN_MS,
  refuseOtherAction,
  refuseStillPending,
  waitsForConfirmation,
} from '../confirmation.ts';
import type { Links } from '../links.ts';
import { allPages, byId } from '../pages.ts';
import type { ConfirmationAnswer, Page, RunStart } from '../server.ts';
import { serverText, type Answer } from '../transport/answer.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation, searchAppEvents } from './calls.ts';
import { toEvent } from './event-records.ts';
import { executionWord, lastWord, quietly } from './settled.ts';

const WAITING = 'waiting_for_confirmation';
/** The pending step is among the newest events; a page more covers what was said meanwhile. */
const MOST_READ = 200;
/**
 * Genuine servers keep the place of a run after it has changed its state, until the last of its events is told; on a
 * busy machine that takes seconds. Meanwhile they refuse to run, and take an acceptance with 200 without acting on it.
 */
const WRAP_UP_MS = 60_000;
/** A run that was taken is under way at once; a busy machine may take longer. */
const MOVED_MS = 10_000;

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
  } else if (!links.local) await seenToBeAccepted(links, agent, pending);
  return pending;
}

async function seenToBeAccepted(links: Links, agent: AgentClient, accepted: readonly PendingAction[]): Promise<void> {
  try {
    await untilAccepted(links, agent, accepted);
  } catch (error) {
    // Whoever ended it here would take the action for one that still waits.
    if (isAppError(error) && error.kind === 'interrupted')
      links.notice('the acceptance has been sent; whether the sandbox acts on it was not seen');
    throw error;
  }
}

/** Accepts again what still waits: each time it is read right before, so that the next action is never meant. */
async function untilAccepted(links: Links, agent: AgentClient, accepted: readonly PendingAction[]): Promise<void> {
  const ids = new Set(accepted.map(({ action_id }) => action_id));
  const { clock } = links;
  let sentAtMs = clock.now();
  const until = sentAtMs + WRAP_UP_MS;
  const isAccepted = async (): Promise<true | undefined> => {
    if (!(await stillWaits(links, agent, ids))) return true;
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
 * The answer has been sent: a look that fails does not make it a failure. Where an action waits that was not accepted the
 * run has gone on, whatever was left without an observation: to accept again would carry out what nobody has seen.
 */
async function stillWaits(links: Links, agent: AgentClient, ids: ReadonlySet<string>): Promise<boolean> {
  try {
    const pending = await pendingAt(links, agent);
    return pending.length > 0 && pending.every(({ action_id }) => ids.has(action_id));
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return false;
  }
}

export async function runV1(links: Links, id: string): Promise<RunStart> {
  return await goOn(links, runningAgentOf(links, await getConversation(links, id)));
}

/** A run while a confirmation waits would carry the action out (interface 7.4). Throws `needs-input` then. */
export async function goOn(links: Links, agent: AgentClient): Promise<RunStart> {
  const id = agent.conversationId;
  const until = links.clock.now() + WRAP_UP_MS;
  let refusal: Answer | null = null;
  const start = async (): Promise<RunStart | undefined> => {
    const { execution_status: status } = await agent.conversation();
    if (status === WAITING) throw waitsForConfirmation(id);
    if (status === 'running' || (refusal !== null && status === 'finished')) return 'already-running';
    const last = links.local ? null : await newestState(agent);
    refusal = await agent.run();
    if (refusal === null && last !== null) await untilMoved(links, agent, last);
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

/**
 * A genuine sandbox takes a run before it is under way: until then it tells the state before, and whoever waits for the
 * run would be told that it has ended there.
 */
async function untilMoved(links: Links, agent: AgentClient, last: ToldState): Promise<void> {
  const hasMoved = async (): Promise<true | undefined> => {
    const now = await newestState(agent);
    return now === null || now.eventId !== last.eventId || undefined;
  };
  await poll(hasMoved, { ...links, every: QUICK, until: links.clock.now() + MOVED_MS });
}

interface ToldState {
  /** Of the newest event that tells the state of the run; null where none of the newest does. */
  eventId: string | null;
}

/** Null where the events cannot be read: a run is told to go on, and is on its way, whatever becomes of this. */
async function newestState(agent: AgentClient): Promise<ToldState | null> {
  return await quietly(async () => {
    const { items } = await agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null);
    return { eventId: items.find((event) => executionWord(event) !== null)?.id ?? null };
  });
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
