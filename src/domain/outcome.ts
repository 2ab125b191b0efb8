import type { ConversationStatus, Reason } from './conversation.ts';

/** The last line of follow, wait and `conv new --wait`. */
export interface Outcome {
  type: 'outcome';
  conversation_id: string;
  status: ConversationStatus | 'deleted';
  reason: Reason | null;
  waiting_for: 'confirmation' | 'user' | null;
  exit_code: number;
  cost_usd: number | null;
  last_event_id: string | null;
}
