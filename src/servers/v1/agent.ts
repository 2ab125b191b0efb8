/** From a conversation's record to the agent server of its sandbox. */
import { AppError } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { createAgentClient, type AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';

/** Null when the sandbox does not run. The base may have a path prefix: the known suffix is cut off (interface 4.3). */
export function agentBaseUrl(conversationUrl: string | null): string | null {
  if (conversationUrl === null) return null;
  const base = conversationUrl.replace(/\/api\/(acp\/)?conversations\/[0-9a-f-]+\/?$/i, '');
  return base === conversationUrl ? null : base;
}

export function agentOf(links: Links, record: AppConversationRecord): AgentClient | null {
  const base = agentBaseUrl(record.conversation_url);
  if (base === null || !/^https?:\/\//.test(base)) return null;
  return createAgentClient(links, base, record.session_api_key, record.id);
}

/** Throws `conflict` when the sandbox does not run, and when the record has no usable address of its agent server. */
export function runningAgentOf(links: Links, record: AppConversationRecord): AgentClient {
  const agent = agentOf(links, record);
  if (agent !== null) return agent;
  if (record.sandbox_status === 'MISSING') {
    throw new AppError('conflict', 'the sandbox of this conversation is gone', { data: { sandbox_status: 'missing' } });
  }
  const status = record.sandbox_status?.toLowerCase() ?? 'unknown';
  const { sandbox_id: sandbox } = record;
  if (status === 'running' || status === 'unknown') {
    throw new AppError('conflict', 'the record of this conversation has no address of its agent server', {
      hint: sandbox === null ? undefined : `see the state of its sandbox: acs sandbox show ${sandbox}`,
      data: { sandbox_status: status },
    });
  }
  throw new AppError('conflict', `the sandbox of this conversation does not run (it is ${status})`, {
    hint: sandbox === null ? undefined : `resume it with: acs sandbox resume ${sandbox}`,
    data: { sandbox_status: status },
  });
}
