import { blankConversation, type Conversation } from '../../domain/conversation.ts';
import { dashedId, normalId } from '../../domain/ids.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import { metricsOfState, runStateOf } from '../agent-server/state.ts';
import { webUrl, type Links } from '../shared/links.ts';

/** What the record has no member for. The server takes keys of lower-case letters and digits. */
export const TAGS = {
  repository: 'acsrepository',
  branch: 'acsbranch',
  /** The commit that the run started from. */
  base: 'acsbase',
  /** The path of the checkout that the folder is a worktree of. */
  checkout: 'acscheckout',
} as const;

export function tagOf({ tags }: AgentConversationRecord, name: keyof typeof TAGS): string | null {
  const value = tags[TAGS[name]];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The page of Agent Canvas, whose ids have dashes. */
export function pageUrl(links: Links, id: string): string | null {
  return webUrl(links, dashedId(id));
}

export function toConversation(links: Links, record: AgentConversationRecord): Conversation {
  const id = normalId(record.id);
  const { execution_status } = record;
  const state = runStateOf(execution_status ?? '');
  return {
    ...blankConversation(id, state.status),
    waiting_for: state.waiting_for,
    title: record.title,
    dialect: 'agent',
    execution_status,
    repository: tagOf(record, 'repository'),
    branch: tagOf(record, 'branch'),
    model: record.model,
    created_at: normalizeTime(record.created_at),
    updated_at: normalizeTime(record.updated_at),
    ...metricsOfState(record.payload),
    url: pageUrl(links, id),
  };
}
