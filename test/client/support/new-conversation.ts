import type { NewConversation } from '../../../src/domain/new-conversation.ts';

/** A start with a message and nothing else, changed by the members. */
export function newConversation(members: Partial<NewConversation> = {}): NewConversation {
  return {
    api: 'auto',
    message: 'do it',
    image_urls: [],
    repository: null,
    branch: null,
    git_provider: null,
    model: null,
    spec_id: null,
    sandbox_id: null,
    instructions: null,
    mcp_config: null,
    replay: null,
    conversation_id: null,
    secrets: {},
    confirm: null,
    body: {},
    ...members,
  };
}
