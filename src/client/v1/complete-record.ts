import { isFailure, type ErrorKind } from '../../base/errors.ts';
import type { Conversation, Reason } from '../../domain/conversation.ts';
import type { Page } from '../../domain/pages.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { endOfStatus, hasEnded, hasStopped } from '../../runs/status.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../shared/links.ts';
import { afterNullFlash } from './quirks/busy-sandbox.ts';
import { metricsAfterRun } from './quirks/late-metrics.ts';
import { agentOf } from './agent.ts';
import { getSandbox, searchAppEvents } from './calls.ts';
import { lastExecutionStatus, reasonOfEvent } from './event-records.ts';
import { runStateV1, toConversation } from './records.ts';

/** @param agentFor null: the agent server gets no request */
export async function completeRecord(
  links: Links,
  first: AppConversationRecord,
  agentFor = (record: AppConversationRecord): AgentClient | null => agentOf(links, record),
): Promise<Conversation> {
  const { redaction } = links.network;
  const record = await afterNullFlash(links, first);
  const conversation = toConversation(links, record);
  const agent = agentFor(record);
  let executionStatus = record.execution_status;
  if (record.sandbox_status !== 'RUNNING' && record.sandbox_status !== 'STARTING') {
    executionStatus ??= await lastExecutionStatus(links, record.id);
    const state = runStateV1(executionStatus, conversation.sandbox_status);
    // Events do not show whether a run continues in a sandbox of unknown state.
    if (conversation.sandbox_status !== 'unknown' || hasEnded(state.status))
      Object.assign(conversation, state);
  }
  if (hasStopped(conversation.status))
    Object.assign(conversation, await quietly(() => metricsAfterRun(links, record, agent)));
  if (conversation.status === 'stuck') conversation.reason = endOfStatus('stuck')?.reason ?? null;
  if (conversation.status !== 'failed') return conversation;
  if (executionStatus?.toLowerCase() !== 'error') {
    // The run itself had not failed: what failed is the sandbox (quirks/busy-sandbox.ts).
    const { sandbox_id: id } = record;
    const detail =
      id === null ? null : await quietly(async () => (await getSandbox(links, id)).status_detail);
    const text = detail?.trim() ? `the sandbox failed: ${detail}` : 'the sandbox is in error';
    return {
      ...conversation,
      may_recover: true,
      reason: { code: 'sandbox-error', text: redaction.text(text) },
    };
  }
  const newestIn = (page: () => Promise<Page<EventRecord>>): Promise<Reason | null> =>
    quietly(
      async () => (await page()).items.map(reasonOfEvent).find((reason) => reason !== null) ?? null,
    );
  const filter = { kind: 'ConversationErrorEvent', order: 'TIMESTAMP_DESC', limit: 1 } as const;
  const reason =
    (agent && (await newestIn(() => agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null)))) ??
    // The app server has it up to 30 s later than the sandbox.
    (await newestIn(() => searchAppEvents(links, record.id, filter, null)));
  return { ...conversation, reason: redaction.value(reason) };
}

/** Null where the task fails, or with one of these kinds: the command can do without it. */
export async function quietly<T>(
  task: () => Promise<T | null>,
  kinds?: readonly ErrorKind[],
): Promise<T | null> {
  try {
    return await task();
  } catch (error) {
    if (!isFailure(error) || kinds?.includes(error.kind) === false) throw error;
    return null;
  }
}
