import type { Conversation } from '../../domain/conversation.ts';

/** The status of a conversation whose latest run has not been read. */
export const NOT_READ = 'unknown(not-read)';

/** A record of a conversation of which only the id is known: not told yet, or not any more. */
export function blankConversation(id: string, status: Conversation['status']): Conversation {
  return {
    id,
    start_task_id: null,
    title: null,
    status,
    reason: null,
    waiting_for: null,
    dialect: 'v1',
    execution_status: null,
    sandbox_id: null,
    sandbox_status: null,
    repository: null,
    branch: null,
    git_provider: null,
    model: null,
    created_at: null,
    updated_at: null,
    cost_usd: null,
    tokens: null,
    url: null,
  };
}
