/** Conversations of the loose server: their events and the states that a message moves them to. */
import { agentMessage, event, finish, status, userMessage } from './v1-world.ts';

export interface LooseConversation {
  id: string;
  title: string;
  model: string;
  branch: string | null;
  repository: string | null;
  sandboxId: string;
  state: string;
  policy: string;
  created_at: string;
  events: Record<string, unknown>[];
}

let made = 0;
export const freshId = (): string =>
  `5eed0000${String(++made).padStart(4, '0')}4a4b8883a7dd7563356d`;

/** The text of a message in the body of a start or of a send. */
export function textIn(message: unknown): string {
  const content = (message as { content?: { text?: string }[] } | null | undefined)?.content ?? [];
  return content.map(({ text = '' }) => text).join(' ');
}

export function takeMessage(conversation: LooseConversation, text: string): void {
  const { events } = conversation;
  events.push(userMessage(text));
  if (text.includes('CONFIRM')) {
    const action = { kind: 'TerminalAction', command: 'touch done' };
    events.push(event('ActionEvent', { tool_name: 'terminal', tool_call_id: freshId(), action }));
    setState(conversation, 'waiting_for_confirmation');
  } else if (text.includes('WORK')) {
    events.push(agentMessage('at work'));
    setState(conversation, 'running');
  } else {
    events.push(finish('done'));
    setState(conversation, 'finished');
  }
}

export function setState(conversation: LooseConversation, word: string): void {
  conversation.state = word;
  conversation.events.push(status(word));
}

export function ordered(
  events: Record<string, unknown>[],
  query: URLSearchParams,
): Record<string, unknown>[] {
  const kind = query.get('kind__eq') ?? query.get('kind');
  const since = query.get('timestamp__gte');
  const found = events.filter(
    (one) =>
      (kind === null || one['kind'] === kind) &&
      (since === null || String(one['timestamp']) >= since),
  );
  return query.get('sort_order') === 'TIMESTAMP_DESC' ? found.toReversed() : found;
}
