import { isFailure, nullIf } from '../../base/errors.ts';
import { pendingActionsV1, type PendingAction } from '../../domain/confirmation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { allPages, byId } from '../../domain/pages.ts';
import {
  answerUntilTaken,
  refuseOtherAction,
  waitsForConfirmation,
} from '../shared/confirmation.ts';
import { errorBy, reasonOf, type Answer } from '../http/answer.ts';
import type { Links } from '../shared/links.ts';
import { untilEffect } from '../shared/quirks/late-effect.ts';
import type { ConfirmationAnswer, RunStart } from '../shared/server.ts';
import type { AgentClient } from './client.ts';
import { executionStatusOf, toEvent } from './event-records.ts';

export const WAITING = 'waiting_for_confirmation';

async function isWaiting(agent: AgentClient): Promise<boolean> {
  return (await agent.conversation()).execution_status === WAITING;
}

export async function pendingAt(links: Links, agent: AgentClient): Promise<PendingAction[]> {
  return (await isWaiting(agent)) ? await unanswered(links, agent.conversationId, agent) : [];
}

/** The pending step is among the newest events; a second page covers the messages since. */
export async function unanswered(
  links: Links,
  id: string,
  from: Pick<AgentClient, 'events'>,
): Promise<PendingAction[]> {
  const newestFirst: ConversationEvent[] = [];
  const fetch = (page: string | null) => from.events({ order: 'newest-first' }, page);
  for await (const event of allPages(byId, fetch)) {
    newestFirst.push(toEvent(event, id, links.network.redaction));
    if (newestFirst.length >= 200) break;
  }
  return pendingActionsV1(newestFirst);
}

/** The server applies an answer to the actions pending at that moment (interface 8.4). */
export async function answerAt(
  links: Links,
  agent: AgentClient,
  { decision, reason, action_id }: ConfirmationAnswer,
): Promise<PendingAction[]> {
  const id = agent.conversationId;
  const answered = await pendingAt(links, agent);
  refuseOtherAction(id, answered, action_id);
  const ids = new Set(answered.map((action) => action.action_id));
  const send = async () => {
    await agent.respond(decision, reason);
    return 'accepted' as const;
  };
  await answerUntilTaken(
    links,
    id,
    { decision, answered },
    {
      send,
      ...(decision === 'accept' ? { again: send } : {}),
      async isVisible() {
        // A pause in place of a rejection leaves the action without an observation.
        if (decision === 'accept' && !(await isWaiting(agent))) return true;
        const pending = await unanswered(links, id, agent);
        // Where an action is pending that was not answered, the run has continued.
        return pending.length === 0 || pending.some((action) => !ids.has(action.action_id));
      },
    },
  );
  return answered;
}

/** Throws `needs-input` while a confirmation is pending, `conflict` when the run is refused. */
export async function runAt(links: Links, agent: AgentClient): Promise<RunStart> {
  const id = agent.conversationId;
  let refusal: Answer | null = null;
  /** The newest event with a status; null where the events cannot be read. */
  let last: { id: string | undefined } | null = null;
  const newestStatus = () =>
    agent
      .newestEvents()
      .then((events) => ({ id: events.find((event) => executionStatusOf(event) !== null)?.id }))
      .catch(nullIf(isFailure));
  const effect = await untilEffect(links, {
    async send() {
      const { execution_status: status } = await agent.conversation();
      if (status === WAITING) throw waitsForConfirmation(id);
      if (status === 'running' || (refusal !== null && status === 'finished')) return 'needless';
      last = await newestStatus();
      refusal = await agent.run();
      return refusal === null ? 'accepted' : 'refused';
    },
    async isVisible() {
      const now = await newestStatus();
      return last === null || now === null || now.id !== last.id;
    },
    done: 'the run was started',
    next: `acs conv show ${id}`,
  });
  if (refusal === null || effect !== 'refused')
    return effect === 'needless' ? 'already-running' : 'started';
  const message = `the sandbox refuses to continue the run: ${reasonOf(refusal)}`;
  throw errorBy(refusal, 'conflict', message, { hint: `see its state: acs conv show ${id}` });
}
