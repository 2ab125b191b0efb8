/**
 * Confirmations and resumption over V0 (interface 3.3, 3.4). The server accepts a change of the agent's state in any
 * state, which may leave a conversation hanging, so it is sent only in the state it is for.
 */
import { noConversation } from '../ids.ts';
import { AppError } from '../../errors.ts';
import { pendingActionV0, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { nothingPending, refuseOtherAction, waitsForConfirmation } from '../confirmation.ts';
import type { Links } from '../links.ts';
import { refuseStillPending } from '../quirks/ignored-rejection.ts';
import { untilStateReported } from '../quirks/late-state-v0.ts';
import type { ConfirmationAnswer, RunStart } from '../server.ts';
import { reasonOf, serverText } from '../transport/answer.ts';
import { eventsBackwardV0, getConversationV0, pathOfV0, runtimeOf, V0_TIMEOUT_MS } from './calls.ts';
import { readNews } from './news.ts';
import { toEventV0 } from './records.ts';

const WAITING = 'awaiting_user_confirmation';
/** The state of an agent that was started again. A change to `running` is accepted, and no step follows. */
const AWAITING_MESSAGE = 'awaiting_user_input';
const MOST_READ = 100;
/** The state event may come before the event of its action. */
const ACTION_MS = 1_000;
/** A stopped agent loses that it was waiting: whether an action is pending is known when it runs again. */
export async function pendingV0(links: Links, id: string): Promise<PendingAction[]> {
  const info = await getConversationV0(links, id);
  if (!isRunning(info)) {
    const status = info.status.toLowerCase();
    throw new AppError(
      'conflict',
      `this conversation does not run (it is ${status}), so a pending action cannot be read`,
      {
        hint: `start it and read the pending action: acs conv confirm ${id} --resume`,
      },
    );
  }
  return await pendingOf(links, info);
}

async function pendingOf(links: Links, info: ConversationInfo): Promise<PendingAction[]> {
  const pending = async (): Promise<PendingAction[] | undefined> => {
    if (!isRunning(info) || (await readNews(links, info)).agentState !== WAITING) return [];
    const newestFirst: ConversationEvent[] = [];
    for await (const event of eventsBackwardV0(links, info)) {
      newestFirst.push(toEventV0(event, info.conversation_id, links.network.redaction));
      if (newestFirst.length >= MOST_READ) break;
    }
    const action = pendingActionV0(newestFirst);
    return action === null ? undefined : [action];
  };
  return (await poll(pending, { ...links, every: STEADY, until: links.clock.now() + ACTION_MS })) ?? [];
}

/** Throws `unsupported` for a reason. */
export function checkAnswerV0(id: string, { reason }: ConfirmationAnswer): Promise<void> {
  if (reason === null) return Promise.resolve();
  const text = 'a V0 conversation takes no reason with a rejection; V1 conversations do';
  const hint = `reject it without --reason, and say why in a message: acs conv send ${id} …`;
  return Promise.reject(new AppError('unsupported', text, { hint }));
}

export async function answerV0(links: Links, id: string, answer: ConfirmationAnswer): Promise<PendingAction[]> {
  await checkAnswerV0(id, answer);
  const info = await getConversationV0(links, id);
  const pending = await pendingOf(links, info);
  if (pending.length === 0) throw nothingPending(id);
  refuseOtherAction(pending, answer.action_id);
  await changeAgentState(links, info, answer.decision === 'accept' ? 'user_confirmed' : 'user_rejected');
  await refuseStillPending(links, id, { decision: answer.decision, answered: pending }, () => pendingOf(links, info));
  return pending;
}

/** Continues an agent that is stopped or paused. */
export async function runV0(links: Links, id: string): Promise<RunStart> {
  const info = await getConversationV0(links, id);
  if (!isRunning(info)) {
    throw new AppError('conflict', `this conversation does not run (it is ${info.status.toLowerCase()})`, {
      hint: `resume it with: acs conv resume ${id}`,
    });
  }
  const { agentState } = await readNews(links, info);
  if (agentState === WAITING) throw waitsForConfirmation(id);
  // A finished agent would run again without a message.
  if (agentState === 'running' || agentState === 'finished') return 'already-running';
  if (agentState === AWAITING_MESSAGE) {
    throw new AppError('needs-input', 'the agent waits for a message; on V0 only a message continues the run', {
      hint: `send a message: acs conv send ${id} …`,
    });
  }
  return await changeAgentState(links, info, 'running');
}

async function changeAgentState(links: Links, info: ConversationInfo, state: string): Promise<RunStart> {
  const { transport, path } = runtimeOf(links, info);
  const newest = (await eventsBackwardV0(links, info).next()).value?.id ?? -1;
  const answer = await transport.request({
    method: 'POST',
    path: `${path}/events`,
    body: { action: 'change_agent_state', args: { agent_state: state } },
    safe: state === 'running' ? 'idempotent' : 'once',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [409],
  });
  if (answer.status !== 409) await untilStateReported(links, info, newest);
  if (answer.status !== 409) return 'started';
  const text = reasonOf(answer);
  if (state === 'running' && /already running/i.test(text)) return 'already-running';
  // The next action has become pending since the state was read.
  if (state === 'running' && /waiting for confirmation/i.test(text)) throw waitsForConfirmation(info.conversation_id);
  throw new AppError('conflict', `the server refuses this: ${text}`, { status: 409, request: answer.request });
}

/** Starts a stopped one; one that runs stays as it is. */
export async function startSandboxV0(links: Links, id: string): Promise<void> {
  const answer = await links.app.request({
    method: 'POST',
    path: `${pathOfV0(id)}/start`,
    body: {},
    safe: 'idempotent',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [404, 409, 410],
  });
  if (answer.status === 404) throw noConversation(id);
  if (answer.status >= 400) {
    throw new AppError(
      'conflict',
      `conversation ${id} cannot be started: ${serverText(answer.body) ?? answer.status}`,
      {
        status: answer.status,
        request: answer.request,
        hint: `its events stay readable: acs conv events ${id}`,
      },
    );
  }
}

/** Throws `needs-input`: a message would make the server execute the pending action. */
export async function refuseWaitingV0(links: Links, info: ConversationInfo): Promise<void> {
  if ((await readNews(links, info)).agentState === WAITING) throw waitsForConfirmation(info.conversation_id);
}

function isRunning(info: ConversationInfo): boolean {
  return info.status.toUpperCase() === 'RUNNING';
}
