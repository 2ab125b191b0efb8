import type { ConversationEvent } from '../../../src/domain/event.ts';

/** An event of the conversation `c`, without a signal of its run unless `members` has one. */
export const conversationEvent = (
  id: string,
  members: Partial<ConversationEvent> = {},
): ConversationEvent => ({
  type: 'event',
  id,
  conversation_id: 'c',
  timestamp: null,
  source: null,
  kind: 'any',
  text: '',
  payload: {},
  signal: null,
  ...members,
});
