/** A message that runs executes an action that waits for a confirmation (interface 7.4). */
import { isFailure, isOfKind, nullIf } from '../../base/errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { waitsForConfirmation } from '../shared/confirmation.ts';
import { readPresence } from '../shared/features.ts';
import { errorBy, isMissingRoute, serverText } from '../http/answer.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { afterNullFlash } from './quirks/busy-sandbox.ts';
import type { IdOrRecord, OutgoingMessage } from '../shared/server.ts';
import { agentOf, runningAgentOf } from './agent.ts';
import { getConversation, conversationRecord } from './calls.ts';
import { lastExecutionStatus } from './last-status.ts';
import { WAITING } from '../agent-server/confirmations.ts';
import { untilRun } from '../agent-server/send.ts';
import { outgoingContent } from '../agent-server/message.ts';

export async function sendV1(
  links: Links,
  to: IdOrRecord,
  message: OutgoingMessage,
): Promise<void> {
  const content = outgoingContent(message);
  const record = await conversationRecord(links, to);
  const agent = agentOf(links, record);
  const isStored = message.effect === 'store';
  if (agent === null || isStored) return await deliver(links, record, { content, run: !isStored });
  // The record may be older than the state in the sandbox, or its status null for a moment.
  const inSandbox = await agent.conversation().catch(nullIf(isFailure));
  const reported = inSandbox?.execution_status ?? null;
  const status =
    reported ??
    (await afterNullFlash(links, record)).execution_status ??
    (await lastExecutionStatus(links, record.id));
  if (status?.toLowerCase() === WAITING) throw waitsForConfirmation(normalId(record.id));
  // Releases without this route run a message also while another run works: it would run twice.
  const run = reported?.toLowerCase() !== 'running';
  const post = () => deliver(links, record, { content, run });
  const runsMessages = links.facts.features['send-message'] === 'absent' && run;
  if (reported === null || runsMessages) return await post();
  await untilRun(links, agent, post);
}

async function deliver(
  links: Links,
  record: AppConversationRecord,
  body: { content: unknown[]; run: boolean },
): Promise<void> {
  const id = normalId(record.id);
  const atSandbox = () =>
    runningAgentOf(links, record).send(body.content, body.run ? 'run' : 'store');
  if ((await readPresence(links, 'send-message')) === 'absent') return await atSandbox();
  const hint = `see whether the message arrived before sending it again: acs conv events ${id}`;
  const call = {
    method: 'POST',
    path: `/api/v1/app-conversations/${encodeURIComponent(id)}/send-message`,
    body: { role: 'user', ...body },
    timeoutMs: LIMITS_MS.send,
    accept: [404, 405, 409, 410, 502],
  } as const;
  const answer = await links.app.request(call).catch((error: unknown) => {
    throw isOfKind('unknown-outcome')(error) ? error.with({ hint }) : error;
  });
  const { status } = answer;
  if (status < 300) return;
  if (isMissingRoute(answer)) return await atSandbox();
  const text = serverText(answer.body);
  const reason = text === null ? '' : `: ${text}`;
  // A sandbox that has not answered for 30 s takes the message after its step.
  if (status === 502) {
    const unknown = 'whether the sandbox takes the message is not known';
    const message = `the server answered 502${reason}; ${unknown}`;
    throw errorBy(answer, 'unknown-outcome', message, { hint, retryable: false });
  }
  const now = await getConversation(links, id);
  if (status !== 409)
    throw errorBy(
      answer,
      'conflict',
      'the sandbox of this conversation is gone, it takes no more messages',
      { data: { sandbox_status: 'missing' } },
    );
  // Genuine servers execute the action instead; no server does both.
  if (now.execution_status?.toLowerCase() === WAITING) throw waitsForConfirmation(id);
  throw errorBy(answer, 'conflict', `the sandbox of this conversation does not run${reason}`, {
    hint: 'resume it with: acs conv send --resume, or acs sandbox resume',
    data: { sandbox_status: 'paused' },
  });
}
