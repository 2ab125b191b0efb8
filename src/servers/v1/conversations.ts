/** The conversations of V1: each method of the port, and the function that implements it. */
import { AppError, isAppError } from '../../errors.ts';
import { changeOverV1, removeOverV0 } from '../change-routes.ts';
import { isUuid, noConversation, normalId } from '../ids.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { refuseNeighbours } from '../quirks/deleted-neighbours.ts';
import { createCopyNotices, untilCopied } from '../quirks/late-copy.ts';
import { removeForGood } from '../quirks/returning-record.ts';
import type { Adapter, RemovalScope } from '../server.ts';
import { webPage } from '../web-page.ts';
import { foundNothing } from '../transport/answer.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';
import { agentOf, runningAgentOf } from './agent.ts';
import { answerV1, pendingV1, runV1, startSandboxV1 } from './answers.ts';
import { getConversation, getConversations, isThereV1 } from './calls.ts';
import { diffV1 } from './diff.ts';
import { eventPagesV1 } from './events.ts';
import { followV1 } from './follow.ts';
import { getByStart } from './lookup.ts';
import { findStart } from './lost-start.ts';
import { renameV1 } from './rename.ts';
import { resultV1 } from './result.ts';
import { createSandboxes } from './sandboxes.ts';
import { sendV1 } from './send.ts';
import { completeRecord } from './complete-record.ts';
import { startV1 } from './start.ts';

export function createConversationsV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  find: Pick<Adapter['conversations'], 'list' | 'get'>,
): Adapter['conversations'] {
  const copy = createCopyNotices(links);
  const { resume } = createSandboxes(links);
  return {
    start: (request, options) => startV1(links, facts, webUrl, request, options),
    findStart: (sent) => findStart(links, facts, webUrl, sent),
    ...find,
    async getComplete(id) {
      const record = isUuid(id) ? ((await getConversations(links, [normalId(id)]))[0] ?? null) : null;
      if (record !== null) return await completeRecord(links, record, webUrl);
      const started = await getByStart(links, facts, webUrl, id);
      if (started.id === '') return started;
      const conversation = await completeRecord(links, await getConversation(links, started.id), webUrl);
      return { ...conversation, start_task_id: started.start_task_id };
    },
    async runsInSandbox(id) {
      const agent = agentOf(links, await getConversation(links, id));
      return agent !== null && (await agent.conversation()).execution_status === 'running';
    },
    rename: (id, title) => renameV1(links, facts, webUrl, id, title),
    remove: (id, scope = { alsoGone: () => false }) => removeV1(links, facts, webUrl, id, scope),
    eventPages: (id, query) => eventPagesV1(links, copy, id, query),
    follow: (id, options) => followV1(links, webUrl, id, options),
    result: (id) => resultV1(links, copy, id),
    send: (id, message) => sendV1(links, facts, id, message),
    pending: (id, paused) => pendingV1(links, id, paused),
    answer: (id, answer) => answerV1(links, id, answer),
    checkAnswer: () => Promise.resolve(),
    run: (id) => runV1(links, id),
    startSandbox: (id) => startSandboxV1(links, id, resume),
    untilStored: async (id) => untilCopied(links, await getConversation(links, id)),
    stop: (id) => stopV1(links, id),
    diff: (id, options) => diffV1(links, id, options),
    webPage: (id) => webPage(links, webUrl, id),
  };
}

/**
 * Interrupts; pauses where the server is too old for that, which answers only when the current step has ended.
 * @throws unsupported where the server has neither route
 */
async function stopV1(links: Links, id: string): Promise<void> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  try {
    if ((await agent.interrupt()) === 'taken') return;
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'server') throw error;
  }
  try {
    await agent.pause();
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
    await agent.conversation(); // throws not-found where the 404 is about the conversation
    throw new AppError('unsupported', 'this server cannot stop a run: it has no route for this', error.details);
  }
}

/** Over the route of V1 or, where there is none, that of V0 (interface 4.4). Throws `not-found`; `conflict` where the route may delete conversations outside the scope with the sandbox. */
async function removeV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  { alsoGone }: RemovalScope,
): Promise<void> {
  const check = async (): Promise<void> => {
    if (alsoGone !== 'any') await refuseNeighbours(links, webUrl, id, alsoGone);
  };
  await removeForGood(links, id, {
    remove: () => removeOnce(links, facts, id, check),
    isThere: () => isThereV1(links, id),
  });
}

/** @param check runs right before a request that may delete the sandbox too */
async function removeOnce(links: Links, facts: ProbeFacts, id: string, check: () => Promise<void>): Promise<void> {
  const call = { timeoutMs: LIMITS_MS.deletion, isThere: () => isThereV1(links, id) };
  const overV1 = await changeOverV1(links, 'delete-conversation', id, { ...call, method: 'DELETE', accept: [400] });
  if (overV1 !== null) {
    if (overV1.status === 400 || foundNothing(overV1)) throw noConversation(id);
    return await links.features.learn('delete-conversation', 'present');
  }
  if (facts.dialects.includes('v0')) await check();
  await removeOverV0(links, facts, id, call);
}
