import type { ConversationRow } from '../../src/service/storage/conversations.ts';

/**
 * A conversation as the service keeps it, ended and without anything special. Times in the stored
 * form.
 */
export function conversationRow(
  given: Pick<ConversationRow, 'id' | 'created_at'> & Partial<ConversationRow>,
): ConversationRow {
  return {
    dialect: 'V1',
    start_state: 'ready',
    start_detail: null,
    sandbox_id: null,
    title: null,
    execution_status: 'finished',
    parent_id: null,
    public: null,
    repository: null,
    branch: null,
    git_provider: null,
    trigger: 'gui',
    pr_number: [],
    llm_model: null,
    metrics: null,
    working_dir: null,
    base_commit: null,
    extras: {},
    updated_at: given.created_at,
    ...given,
  };
}
