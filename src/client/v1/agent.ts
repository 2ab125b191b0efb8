import { AppError } from '../../base/errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../shared/links.ts';

export function agentOf(links: Links, record: AppConversationRecord): AgentClient | null {
  // The address may have a path prefix: the known suffix is cut off (interface 4.3).
  const base = /^(https?:\/\/.*)\/api\/(acp\/)?conversations\/[0-9a-f-]+\/?$/i.exec(
    record.conversation_url ?? '',
  )?.[1];
  if (base === undefined) return null;
  const key = record.session_api_key;
  return new AgentClient(links, { transport: links.agent(base, key), key }, record.id);
}

export function runningAgentOf(links: Links, record: AppConversationRecord): AgentClient {
  const agent = agentOf(links, record);
  if (agent !== null) return agent;
  const { sandbox_id: sandbox } = record;
  const status = record.sandbox_status?.toLowerCase() ?? 'unknown';
  const data = { sandbox_status: status };
  if (status === 'missing')
    throw new AppError('conflict', 'the sandbox of this conversation is gone', {
      hint: `its events have the edits of files: acs conv export ${record.id} --as md`,
      data,
    });
  const isUp = status === 'running' || status === 'unknown';
  const message = isUp
    ? 'the record of this conversation has no address of its agent server'
    : `the sandbox of this conversation does not run (it is ${status})`;
  const next = isUp
    ? 'see the state of its sandbox: acs sandbox show'
    : 'resume it with: acs sandbox resume';
  throw new AppError('conflict', message, {
    hint: sandbox === null ? undefined : `${next} ${sandbox}`,
    data,
  });
}
