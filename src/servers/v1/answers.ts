/** What V1 waits for and how it goes on: the pending action, its answer, the run, waking (interface 4.4, 5.3, 7.4). */
import { AppError } from '../../errors.ts';
import { pendingActionsV1, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { nothingPending, refuseOtherAction, waitsForConfirmation } from '../confirmation.ts';
import type { Links } from '../links.ts';
import type { ConfirmationAnswer, RunStart } from '../server.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { toEvent } from './records.ts';

const WAITING = 'waiting_for_confirmation';
/** The pending step is among the newest events; a page more covers what was said meanwhile. */
const MOST_READ = 200;

export async function pendingV1(links: Links, id: string): Promise<PendingAction[]> {
  return await pendingAt(links, runningAgentOf(links, await getConversation(links, id)));
}

async function pendingAt(links: Links, agent: AgentClient): Promise<PendingAction[]> {
  if ((await agent.conversation()).execution_status !== WAITING) return [];
  const newestFirst: ConversationEvent[] = [];
  let page: string | null = null;
  do {
    const found: Awaited<ReturnType<AgentClient['events']>> = await agent.events({ order: 'TIMESTAMP_DESC' }, page);
    for (const event of found.items) newestFirst.push(toEvent(event, agent.conversationId, links.network.redaction));
    page = found.next === page ? null : found.next;
  } while (page !== null && newestFirst.length < MOST_READ);
  return pendingActionsV1(newestFirst);
}

/** The server answers whatever waits when the call comes (interface 8.4), so what waits is read right before it. */
export async function answerV1(links: Links, id: string, answer: ConfirmationAnswer): Promise<PendingAction[]> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  const pending = await pendingAt(links, agent);
  if (pending.length === 0) throw nothingPending(id);
  refuseOtherAction(pending, answer.action_id);
  await agent.respond(answer.decision, answer.reason);
  return pending;
}

/** A run while a confirmation waits would carry the action out (interface 7.4). */
export async function runV1(links: Links, id: string): Promise<RunStart> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  const { execution_status: status } = await agent.conversation();
  if (status === WAITING) throw waitsForConfirmation(id);
  if (status === 'running') return 'already-running';
  const refusal = await agent.run();
  if (refusal === null) return 'started';
  if (/confirm/i.test(refusal)) throw waitsForConfirmation(id);
  return 'already-running';
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
