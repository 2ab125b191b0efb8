import { isFailure, nullIf } from '../../base/errors.ts';
import type { Conversation, Reason } from '../../domain/conversation.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { endOfStatus, hasEnded, hasStopped } from '../../runs/status.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../shared/links.ts';
import { afterNullFlash } from './quirks/busy-sandbox.ts';
import { metricsAfterRun } from './quirks/late-metrics.ts';
import { agentOf } from './agent.ts';
import { searchAppEvents } from './app-events.ts';
import { getSandbox } from './calls.ts';
import { lastExecutionStatus } from './last-status.ts';
import { reasonOfEvent } from '../agent-server/event-records.ts';
import { runStateV1, toConversation } from './records.ts';

export async function completeRecord(
  links: Links,
  first: AppConversationRecord,
  agentFor = (record: AppConversationRecord) => agentOf(links, record),
): Promise<Conversation> {
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
  const { status } = conversation;
  if (hasStopped(status)) {
    const metrics = await metricsAfterRun(links, record, agent).catch(nullIf(isFailure));
    Object.assign(conversation, metrics);
  }
  if (status === 'stuck') conversation.reason = endOfStatus('stuck')?.reason ?? null;
  if (status !== 'failed') return conversation;
  if (executionStatus?.toLowerCase() === 'error')
    return Object.assign(conversation, { reason: await failureReason(links, record.id, agent) });
  // The run itself had not failed: what failed is the sandbox (quirks/busy-sandbox.ts).
  return { ...conversation, may_recover: true, reason: await sandboxReason(links, record) };
}

async function failureReason(
  links: Links,
  id: string,
  agent: AgentClient | null,
): Promise<Reason | null> {
  const newestIn = async (events: Promise<EventRecord[]> | undefined) =>
    (await events?.catch(nullIf(isFailure)))?.map(reasonOfEvent).find((reason) => reason) ?? null;
  const inCopy = async () => {
    const kind = 'ConversationErrorEvent';
    const filter = { kind, order: 'newest-first', limit: 1 } as const;
    return (await searchAppEvents(links, id, filter, null)).items;
  };
  // The app server has it up to 30 s later than the sandbox.
  const reason = (await newestIn(agent?.newestEvents())) ?? (await newestIn(inCopy()));
  return links.network.redaction.value(reason);
}

async function sandboxReason(links: Links, { sandbox_id: id }: AppConversationRecord) {
  const sandbox = id === null ? null : await getSandbox(links, id).catch(nullIf(isFailure));
  const detail = sandbox?.status_detail?.trim();
  const text = detail ? `the sandbox failed: ${detail}` : 'the sandbox is in error';
  return { code: 'sandbox-error', text: links.network.redaction.text(text) };
}
