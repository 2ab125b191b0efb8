/** What the record of a conversation may lack: the last state of a run whose sandbox does not run, why one failed, and its metrics. */
import { isAppError } from '../../errors.ts';
import type { Conversation, Reason } from '../../domain/conversation.ts';
import { hasStopped } from '../../runs/status.ts';
import { runStateV1 } from './run-status.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links, WebUrl } from '../links.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { afterNullFlash } from '../quirks/busy-sandbox.ts';
import { endsWithFinish } from '../quirks/finish-without-status.ts';
import { metricsAfterRun } from '../quirks/late-metrics.ts';
import { agentOf } from './agent.ts';
import { getSandbox, searchAppEvents } from './calls.ts';
import { toConversation } from './records.ts';

/** State updates among which the newest execution status is looked for. */
const MOST_STATES = 200;

/**
 * Reads what the record lacks, once its status is not null for a moment only: the last state of the run, the reason of a
 * failure, and what it cost so far.
 * @param agentFor the agent server of the sandbox; null: it gets no request
 */
export async function completeRecord(
  links: Links,
  first: AppConversationRecord,
  webUrl: WebUrl,
  agentFor = (record: AppConversationRecord): AgentClient | null => agentOf(links, record),
): Promise<Conversation> {
  const record = await afterNullFlash(links, first);
  const conversation = toConversation(record, webUrl);
  const agent = agentFor(record);
  let word = record.execution_status;
  if (record.sandbox_status !== 'RUNNING' && record.sandbox_status !== 'STARTING') {
    word ??= await lastKnownWord(links, record.id);
    Object.assign(conversation, runStateV1(word, conversation.sandbox_status));
  }
  if (hasStopped(conversation.status))
    Object.assign(conversation, await quietly(() => metricsAfterRun(links, record, agent)));
  if (conversation.status !== 'failed' && conversation.status !== 'stuck') return conversation;
  // The run itself had not failed: what failed is the sandbox.
  const isOfSandbox = conversation.status === 'failed' && word?.toLowerCase() !== 'error';
  if (isOfSandbox) conversation.may_recover = true; // quirks/busy-sandbox.ts
  conversation.reason = isOfSandbox
    ? await sandboxReason(links, record)
    : await failureReason(links, record, agent, conversation.status);
  return conversation;
}

async function lastKnownWord(links: Links, id: string): Promise<string | null> {
  const word = await lastWord(links, id);
  return word?.toLowerCase() === 'running' && (await endsWithFinish(links, id)) ? 'finished' : word;
}

/** The newest execution status among the app server's events. */
export async function lastWord(links: Links, id: string): Promise<string | null> {
  const filter = { kind: 'ConversationStateUpdateEvent', order: 'TIMESTAMP_DESC', limit: 50 } as const;
  let read = 0;
  for await (const event of allPages(byId, (page) => searchAppEvents(links, id, filter, page))) {
    const word = executionWord(event);
    if (word !== null) return word;
    if (++read >= MOST_STATES) return null;
  }
  return null;
}

/** The execution status in an event, else null. */
export function executionWord(event: EventRecord): string | null {
  if (event.kind !== 'ConversationStateUpdateEvent') return null;
  const { key, value } = event.payload;
  if (key === 'execution_status' && typeof value === 'string') return value;
  if (key === 'full_state' && isRecord(value) && typeof value['execution_status'] === 'string')
    return value['execution_status'];
  return null;
}

export function reasonOfEvent(event: EventRecord): Reason | null {
  if (event.kind !== 'ConversationErrorEvent' && event.kind !== 'ServerErrorEvent') return null;
  const { code, detail } = event.payload;
  return {
    code: typeof code === 'string' && code !== '' ? code : 'error',
    text: typeof detail === 'string' && detail !== '' ? detail : 'the server gives no reason',
  };
}

const STUCK: Reason = { code: 'stuck', text: 'the agent did the same step again and again' };

/** Read where it is: at the sandbox at once, at the app server up to 30 s later. Null where neither has one. */
export async function failureReason(
  links: Links,
  record: AppConversationRecord,
  agent: AgentClient | null,
  status: 'failed' | 'stuck',
): Promise<Reason | null> {
  if (status === 'stuck') return STUCK;
  const redacted = (event: EventRecord): Reason | null => links.network.redaction.value(reasonOfEvent(event));
  if (agent !== null) {
    const reason = await quietly(async () =>
      newestReason((await agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null)).items, redacted),
    );
    if (reason !== null) return reason;
  }
  return quietly(async () => {
    const filter = { kind: 'ConversationErrorEvent', order: 'TIMESTAMP_DESC', limit: 1 } as const;
    return newestReason((await searchAppEvents(links, record.id, filter, null)).items, redacted);
  });
}

async function sandboxReason(links: Links, { sandbox_id: id }: AppConversationRecord): Promise<Reason> {
  const sandbox = id === null ? null : await quietly(() => getSandbox(links, id));
  const detail = sandbox?.status_detail ?? null;
  const text = detail === null || detail.trim() === '' ? 'the sandbox is in error' : `the sandbox failed: ${detail}`;
  return { code: 'sandbox-error', text: links.network.redaction.text(text) };
}

function newestReason(events: EventRecord[], reasonOf: (event: EventRecord) => Reason | null): Reason | null {
  for (const event of events) {
    const reason = reasonOf(event);
    if (reason !== null) return reason;
  }
  return null;
}

/** An additional read: null where it fails, because the command can do without it. */
export async function quietly<T>(task: () => Promise<T | null>): Promise<T | null> {
  try {
    return await task();
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return null;
  }
}
