/**
 * While an action waits for a confirmation, a message that runs carries that action out (interface
 * 7.4).
 */
import { AppError, isAppError } from '../../base/errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { waitsForConfirmation } from '../shared/confirmation.ts';
import { readPresence } from '../shared/features.ts';
import { isMissingRoute, serverText } from '../http/answer.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { afterNullFlash } from './quirks/busy-sandbox.ts';
import { untilEffect } from '../shared/quirks/late-effect.ts';
import type { OutgoingMessage } from '../shared/server.ts';
import { agentOf, runningAgentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { quietly } from './complete-record.ts';
import { runAt, WAITING } from './confirmations.ts';
import { executionStatusOf, lastExecutionStatus } from './event-records.ts';
import { messageContent } from './start-body.ts';

/** The message is stored with these statuses, and the agent does not run. */
const STOPPED: ReadonlySet<string> = new Set(['idle', 'paused', 'finished', 'stuck', 'error']);

export async function sendV1(links: Links, id: string, message: OutgoingMessage): Promise<void> {
  const content = messageContent({ message: message.text, image_urls: message.image_urls });
  if (content.length === 0) throw new AppError('usage', 'the message is empty');
  const record = await getConversation(links, id);
  if (message.effect === 'store') return await deliver(links, record, { content, run: false });
  const agent = agentOf(links, record);
  // The record may be older than the state in the sandbox, or its status null for a moment.
  const inSandbox =
    agent && (await quietly(async () => (await agent.conversation()).execution_status));
  let status = inSandbox;
  if (agent !== null && status === null)
    status =
      (await afterNullFlash(links, record)).execution_status ??
      (await lastExecutionStatus(links, id));
  if (status?.toLowerCase() === WAITING) throw waitsForConfirmation(normalId(id));
  const isRunning = inSandbox?.toLowerCase() === 'running';
  const post = (): Promise<void> => deliver(links, record, { content, run: !isRunning });
  // Releases before this call run a message even while an older run works: a second request would
  // run it twice.
  const isSure = links.features.of('send-message') === 'absent' && !isRunning;
  if (agent === null || inSandbox === null || isSure) return await post();
  await untilEffect(links, {
    async send() {
      await post();
      return 'accepted';
    },
    async isVisible() {
      const { execution_status: now } = await agent.conversation();
      if (now === null || !STOPPED.has(now)) return true;
      // Neither the agent nor the state of the run has moved since the message.
      const { items } = await agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null);
      const newest = items.find(
        (event) =>
          event.kind !== 'ConversationStateUpdateEvent' || executionStatusOf(event) !== null,
      );
      return newest?.kind !== 'MessageEvent' || newest.source !== 'user';
    },
    async again() {
      await quietly(() => runAt(links, agent), ['needs-input']);
      return 'needless';
    },
    done: 'the message was stored',
    next: `if it does not run: acs conv resume ${agent.conversationId}`,
  });
}

async function deliver(
  links: Links,
  record: AppConversationRecord,
  body: { content: unknown[]; run: boolean },
): Promise<void> {
  const id = normalId(record.id);
  const atSandbox = () =>
    runningAgentOf(links, record).send(body.content, body.run ? 'run' : 'store');
  const route = await readPresence(
    links.features,
    (call) => links.app.request(call),
    'send-message',
  );
  if (route === 'absent') return await atSandbox();
  const lookFirst = {
    hint: `see whether the message arrived before sending it again: acs conv events ${id}`,
  };
  const call = {
    method: 'POST',
    path: `/api/v1/app-conversations/${encodeURIComponent(id)}/send-message`,
    body: { role: 'user', ...body },
    safe: 'once',
    timeoutMs: LIMITS_MS.send,
    accept: [404, 405, 409, 410, 502],
  } as const;
  const answer = await links.app.request(call).catch((error: unknown) => {
    if (!isAppError(error) || error.kind !== 'unknown-outcome') throw error;
    throw new AppError('unknown-outcome', error.message, { ...error.details, ...lookFirst });
  });
  if (answer.status < 300) return;
  // The conversation exists: the missing one is the route.
  if (isMissingRoute(answer)) return await atSandbox();
  const { status, request } = answer;
  const text = serverText(answer.body);
  const said = text === null ? '' : `: ${text}`;
  // Also after 30 s without an answer of the sandbox, which takes the message when the step in hand
  // has ended.
  if (status === 502) {
    const message =
      `the server answered 502${said}; whether the sandbox takes the message ` + `is not known`;
    throw new AppError('unknown-outcome', message, {
      status,
      request,
      ...lookFirst,
      retryable: false,
    });
  }
  // not-found when the conversation is the missing one
  const now = await getConversation(links, id);
  // Genuine servers execute the action instead; no server does both.
  if (status === 409 && now.execution_status?.toLowerCase() === WAITING)
    throw waitsForConfirmation(id);
  if (status === 409)
    throw new AppError('conflict', `the sandbox of this conversation does not run${said}`, {
      status,
      request,
      hint: 'resume it with: acs conv send --resume, or acs sandbox resume',
      data: { sandbox_status: 'paused' },
    });
  throw new AppError(
    'conflict',
    'the sandbox of this conversation is gone, it takes no more messages',
    {
      status,
      request,
      data: { sandbox_status: 'missing' },
    },
  );
}
