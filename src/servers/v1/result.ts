/**
 * The final answer to the latest user message: the message the agent finished with, or its last text (interface 12).
 * Read from the newest event backwards to that message, so an answer to an older one never counts.
 */
import type { EventRecord } from '../../protocol/v1/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { eventRecords } from './events.ts';

export async function resultV1(links: Links, id: string): Promise<string | null> {
  const record = await getConversation(links, id);
  for await (const event of eventRecords(links, record.id, agentOf(links, record), { order: 'newest-first' })) {
    if (event.kind === 'MessageEvent' && event.source === 'user') return null;
    const answer = answerOf(event);
    if (answer !== null) return answer;
  }
  return null;
}

function answerOf(event: EventRecord): string | null {
  if (event.kind === 'ActionEvent') {
    const { action } = event.payload;
    if (!isRecord(action) || action['kind'] !== 'FinishAction') return null;
    return typeof action['message'] === 'string' && action['message'] !== '' ? action['message'] : null;
  }
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return null;
  const message = event.payload['llm_message'];
  const content = isRecord(message) && Array.isArray(message['content']) ? message['content'] : [];
  const texts = content.map((item: unknown) =>
    isRecord(item) && typeof item['text'] === 'string' ? item['text'] : '',
  );
  const text = texts.join('');
  return text === '' ? null : text;
}
