/** The conversations of V0: each method of the port, and the function that implements it. */
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isNotFound } from '../../errors.ts';
import { removeOverV0, renameOverV0 } from '../change-routes.ts';
import { waitsForConfirmation } from '../confirmation.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { renameV0 } from '../quirks/overwritten-title-v0.ts';
import { removeForGood } from '../quirks/returning-record.ts';
import type { Adapter, OutgoingMessage } from '../server.ts';
import { reasonOf } from '../transport/answer.ts';
import { webPage } from '../web-page.ts';
import { answerV0, checkAnswerV0, pendingV0, refuseWaitingV0, runV0, startSandboxV0 } from './answers.ts';
import { getConversationV0, pathOfV0, runtimeOf, V0_TIMEOUT_MS } from './calls.ts';
import { diffV0 } from './diff.ts';
import { eventPagesV0, resultV0 } from './events.ts';
import { findV0, listV0 } from './find.ts';
import { followV0 } from './follow.ts';
import { findStartV0, startV0 } from './start.ts';

export function createConversationsV0(links: Links, facts: ProbeFacts, webUrl: WebUrl): Adapter['conversations'] {
  const get = (id: string): Promise<Conversation> => findV0(links, facts, webUrl, id);
  return {
    start: (request, options) => startV0(links, webUrl, request, options),
    findStart: (sent) => findStartV0(sent, get),
    list: (query, page) => listV0(links, facts, webUrl, query, page),
    get,
    getComplete: get,
    // The state is read from the events, which cannot contradict it.
    runsInSandbox: () => Promise.resolve(false),
    rename(id, title) {
      const patch = (): Promise<void> => renameOverV0(links, facts, id, title, () => isThereV0(links, id));
      return renameV0(links, title, { patch, look: () => get(id) });
    },
    remove(id) {
      const isThere = (): Promise<boolean> => isThereV0(links, id);
      const remove = (): Promise<void> => removeOverV0(links, facts, id, { timeoutMs: V0_TIMEOUT_MS, isThere });
      return removeForGood(links, id, { remove, isThere });
    },
    eventPages: (id, query) => eventPagesV0(links, id, query),
    follow: (id, options) => followV0(links, webUrl, id, options),
    result: (id) => resultV0(links, id),
    send: (id, message) => sendV0(links, id, message),
    pending: (id) => pendingV0(links, id),
    answer: (id, answer) => answerV0(links, id, answer),
    checkAnswer: (id, answer) => checkAnswerV0(id, answer),
    run: (id) => runV0(links, id),
    startSandbox: (id) => startSandboxV0(links, id),
    untilStored: () => Promise.resolve(),
    stop: (id) => stopV0(links, id),
    diff: (id, options) => diffV0(links, id, options),
    webPage: (id) => webPage(links, webUrl, id),
  };
}

async function isThereV0(links: Links, id: string): Promise<boolean> {
  try {
    await getConversationV0(links, id);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function stopV0(links: Links, id: string): Promise<void> {
  await getConversationV0(links, id);
  await links.app.request({
    method: 'POST',
    path: `${pathOfV0(id)}/stop`,
    safe: 'idempotent',
    timeoutMs: V0_TIMEOUT_MS,
  });
}

/** As a raw action: the route for messages is younger than V0 itself (interface 3.4). Sent once. */
async function sendV0(links: Links, id: string, message: OutgoingMessage): Promise<void> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() !== 'RUNNING') {
    throw new AppError('conflict', `this conversation does not run (it is ${info.status.toLowerCase()})`, {
      hint: 'resume it with: acs conv send --resume',
    });
  }
  await refuseWaitingV0(links, info);
  const { transport, path } = runtimeOf(links, info);
  const answer = await transport.request({
    method: 'POST',
    path: `${path}/events`,
    body: { action: 'message', args: { content: message.text, image_urls: message.image_urls } },
    safe: 'once',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [409],
  });
  if (answer.status !== 409) return;
  const text = reasonOf(answer);
  if (/confirmation/i.test(text)) throw waitsForConfirmation(info.conversation_id);
  throw new AppError('conflict', `the server refuses this message: ${text}`, {
    status: 409,
    request: answer.request,
  });
}
