/** V0 accepts a change of state in any state, which may leave the agent hanging (interface 3.3). */
import { AppError } from '../../base/errors.ts';
import { pendingActionV0, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import {
  answerUntilTaken,
  refuseOtherAction,
  waitsForConfirmation,
} from '../shared/confirmation.ts';
import { errorBy, reasonOf } from '../http/answer.ts';
import type { Links } from '../shared/links.ts';
import { untilEffect, type LateChange } from '../shared/quirks/late-effect.ts';
import type { ConfirmationAnswer, OutgoingMessage, RunStart } from '../shared/server.ts';
import { eventsV0, getRunningV0, runtimeOf } from './calls.ts';
import { agentStateOf, readNews, toEventV0, WAITING } from './events.ts';

const MOST_READ = 100;

export async function pendingV0(links: Links, id: string): Promise<PendingAction[]> {
  const hint = `start it and read the pending action: acs conv confirm ${id} --resume`;
  return await pendingOf(
    links,
    await getRunningV0(links, id, hint, ', so a pending action cannot be read'),
  );
}

async function pendingOf(links: Links, info: ConversationInfo): Promise<PendingAction[]> {
  const pending = async () => {
    if ((await readNews(links, info)).agentState !== WAITING) return [];
    const newestFirst: ConversationEvent[] = [];
    for await (const event of eventsV0(links, info, null)) {
      newestFirst.push(toEventV0(event, info.conversation_id, links.network.redaction));
      if (newestFirst.length >= MOST_READ) break;
    }
    const action = pendingActionV0(newestFirst);
    return action === null ? undefined : [action];
  };
  // The event of the state may come before that of its action.
  return (await poll(pending, { ...links, every: STEADY, until: links.clock.now() + 1_000 })) ?? [];
}

export function checkAnswerV0(id: string, { reason }: ConfirmationAnswer): Promise<void> {
  if (reason === null) return Promise.resolve();
  const text = 'a V0 conversation takes no reason with a rejection; V1 conversations do';
  const hint = `reject it without --reason, and say why in a message: acs conv send ${id} …`;
  return Promise.reject(new AppError('unsupported', text, { hint }));
}

export async function answerV0(
  links: Links,
  id: string,
  answer: ConfirmationAnswer,
): Promise<PendingAction[]> {
  await checkAnswerV0(id, answer);
  const { decision } = answer;
  const info = await getRunningV0(links, id, `resume it with: acs conv confirm ${id} --resume`);
  const answered = await pendingOf(links, info);
  refuseOtherAction(id, answered, answer.action_id);
  const state = decision === 'accept' ? 'user_confirmed' : 'user_rejected';
  const change = await agentStateChange(links, info, state);
  await answerUntilTaken(links, id, { decision, answered }, change);
  return answered;
}

export async function runV0(links: Links, id: string): Promise<RunStart> {
  const info = await getRunningV0(links, id, `resume it with: acs conv resume ${id}`);
  const { agentState } = await readNews(links, info);
  if (agentState === WAITING) throw waitsForConfirmation(id);
  // A finished agent would run again without a message; null: V0 runs the agent for the message.
  if (agentState === 'running' || agentState === 'finished' || agentState === null)
    return 'already-running';
  // A restarted agent accepts a change to `running`, and takes no step.
  if (agentState === 'awaiting_user_input') {
    const message = 'the agent waits for a message; on V0 only a message continues the run';
    const hint = `send a message: acs conv send ${id} …`;
    throw new AppError('needs-input', message, { hint });
  }
  const change = await agentStateChange(links, info, 'running');
  const effect = await untilEffect(links, {
    ...change,
    done: 'the run was started',
    next: `acs conv show ${id}`,
  });
  return effect === 'needless' ? 'already-running' : 'started';
}

async function agentStateChange(
  links: Links,
  info: ConversationInfo,
  state: string,
): Promise<Pick<LateChange, 'send' | 'isVisible'>> {
  const { transport, path } = runtimeOf(links, info);
  const newest = (await eventsV0(links, info, null).next()).value?.id ?? -1;
  return {
    async send() {
      const answer = await transport.request({
        method: 'POST',
        path: `${path}/events`,
        body: { action: 'change_agent_state', args: { agent_state: state } },
        safe: state === 'running' ? 'idempotent' : 'once',
        accept: [409],
      });
      if (answer.status !== 409) return 'accepted';
      const { agentState } = await readNews(links, info);
      if (state === 'running' && agentState === 'running') return 'needless';
      if (state === 'running' && agentState === WAITING)
        throw waitsForConfirmation(info.conversation_id);
      throw errorBy(answer, 'conflict', `the server refuses this: ${reasonOf(answer)}`);
    },
    async isVisible() {
      for await (const event of eventsV0(links, info, newest + 1))
        if (event.id > newest && agentStateOf(event) !== null) return true;
      return false;
    },
  };
}

/** A raw action: the route for messages is younger than V0 itself (interface 3.4). Sent once. */
export async function sendV0(links: Links, id: string, message: OutgoingMessage): Promise<void> {
  const info = await getRunningV0(links, id, 'resume it with: acs conv send --resume');
  if ((await readNews(links, info)).agentState === WAITING)
    throw waitsForConfirmation(info.conversation_id);
  const { transport, path } = runtimeOf(links, info);
  const answer = await transport.request({
    method: 'POST',
    path: `${path}/events`,
    body: { action: 'message', args: { content: message.text, image_urls: message.image_urls } },
    accept: [409],
  });
  if (answer.status !== 409) return;
  if ((await readNews(links, info)).agentState === WAITING)
    throw waitsForConfirmation(info.conversation_id);
  throw errorBy(answer, 'conflict', `the server refuses this message: ${reasonOf(answer)}`);
}
