/**
 * A message to a V1 conversation. While an action waits for a confirmation, a message that runs carries that action out
 * (interface 7.4); so the state is read right before, where it is, and a message to a run that is under way is only
 * stored: the run sees it, and an action that begins to wait meanwhile stays waiting.
 */
import { AppError, isAppError } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { isMissingRoute, readPresence } from '../features.ts';
import { waitsForConfirmation } from '../confirmation.ts';
import { normalId, noConversation } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { afterNullFlash } from '../quirks/busy-sandbox.ts';
import { runIfUnprocessed } from '../quirks/unprocessed-message.ts';
import type { OutgoingMessage } from '../server.ts';
import { serverText, type Answer } from '../transport/answer.ts';
import { agentOf, runningAgentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { lastWord } from './complete-record.ts';
import { messageContent } from './start-body.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';

const WAITING = 'waiting_for_confirmation';

/** Through the app server where it has the call, else at the sandbox. Sent once. */
export async function sendV1(links: Links, facts: ProbeFacts, id: string, message: OutgoingMessage): Promise<void> {
  const content = messageContent({ message: message.text, image_urls: message.image_urls });
  if (content.length === 0) throw new AppError('usage', 'the message is empty');
  const record = await getConversation(links, id);
  if (message.effect === 'store') return await deliver(links, record, { content, run: false });
  const agent = agentOf(links, record);
  const seen = await stateNow(links, record, agent);
  if (seen.word === WAITING) throw waitsForConfirmation(normalId(id));
  const goesOn = seen.word === 'running' && seen.by !== null;
  await deliver(links, record, { content, run: !goesOn });
  // Releases before this call run a message even while an older run works: a second request would run it twice.
  const isSure = facts.features['send-message'] === 'absent';
  if (seen.by !== null && (goesOn || !isSure)) await runIfUnprocessed(links, seen.by);
}

/** The state of the run, from the sandbox where it answers (`by`): the record may be older, or flash null. */
async function stateNow(
  links: Links,
  record: AppConversationRecord,
  agent: AgentClient | null,
): Promise<{ word: string; by: AgentClient } | { word: string | null; by: null }> {
  if (agent === null) return { word: null, by: null };
  try {
    const { execution_status: word } = await agent.conversation();
    if (word !== null) return { word: word.toLowerCase(), by: agent };
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
  }
  const { execution_status: recorded } = await afterNullFlash(links, record);
  const word = recorded ?? (await lastWord(links, record.id));
  return { word: word?.toLowerCase() ?? null, by: null };
}

interface Body {
  content: unknown[];
  run: boolean;
}

async function deliver(links: Links, record: AppConversationRecord, body: Body): Promise<void> {
  const route = await readPresence(links.features, (call) => links.app.request(call), 'send-message');
  if (route === 'absent') return await runningAgentOf(links, record).send(body.content, body.run ? 'run' : 'store');
  const { id } = record;
  const answer = await postMessage(links, id, body);
  if (answer.status < 300) return;
  const text = serverText(answer.body) ?? '';
  // The conversation exists: the missing one is the route.
  if (isMissingRoute(answer)) {
    return await runningAgentOf(links, record).send(body.content, body.run ? 'run' : 'store');
  }
  if (answer.status === 404 && !/sandbox/i.test(text)) throw noConversation(id);
  if (answer.status === 502) throw notPassedOn(answer, id, text);
  // Genuine servers execute the action instead; no server does both.
  if (answer.status === 409 && /confirmation/i.test(text)) throw waitsForConfirmation(normalId(id));
  if (answer.status === 409) {
    throw new AppError('conflict', `the sandbox of this conversation does not run${text === '' ? '' : `: ${text}`}`, {
      status: 409,
      request: answer.request,
      hint: `resume it with: acs conv send --resume, or acs sandbox resume`,
      data: { sandbox_status: 'paused' },
    });
  }
  throw new AppError('conflict', 'the sandbox of this conversation is gone, it takes no more messages', {
    status: answer.status,
    request: answer.request,
    data: { sandbox_status: 'missing' },
  });
}

async function postMessage(links: Links, id: string, message: Body): Promise<Answer> {
  try {
    return await links.app.request({
      method: 'POST',
      path: `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}/send-message`,
      body: { role: 'user', ...message },
      safe: 'once',
      timeoutMs: LIMITS_MS.send,
      accept: [404, 405, 409, 410, 502],
    });
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unknown-outcome') throw error;
    throw new AppError('unknown-outcome', error.message, { ...error.details, hint: lookFirst(id) });
  }
}

function lookFirst(id: string): string {
  return `see whether the message arrived before sending it again: acs conv events ${normalId(id)}`;
}

/** An app server waits 30 s for the sandbox, which takes a message when the agent's command has ended: then it does. */
function notPassedOn({ status, request, body }: Answer, id: string, text: string): AppError {
  const isRefused = body !== undefined && !/failed to reach/i.test(text);
  if (isRefused)
    return new AppError('server', `the server answered 502: ${text}`, { status, request, retryable: true });
  const message =
    body === undefined
      ? 'a gateway answered 502; whether the server acted on the request is not known'
      : 'the sandbox has not taken the message in time; it may take it when the step in hand has ended';
  return new AppError('unknown-outcome', message, { status, request, hint: lookFirst(id), retryable: false });
}
