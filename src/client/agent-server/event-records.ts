import type { Reason } from '../../domain/conversation.ts';
import { contentTexts, eventText, member, textAt, textOf } from '../../domain/event-payload.ts';
import type { ConversationEvent, RunSignal } from '../../domain/event.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type { Redaction } from '../http/redaction.ts';
import type { FinalAnswer } from '../shared/server.ts';

export function toEvent(
  record: EventRecord,
  conversationId: string,
  redaction: Redaction,
): ConversationEvent {
  const { id, source, kind } = record;
  const payload = redaction.part(record.payload);
  const text = eventText(kind, payload);
  const event: ConversationEvent = {
    type: 'event',
    id,
    conversation_id: conversationId,
    timestamp: normalizeTime(record.timestamp),
    source,
    kind,
    text,
    payload,
    signal: signalOf(record),
  };
  return redaction.mark(event, [id, conversationId, source ?? '', kind, text]);
}

export function isUserMessage({ kind, source }: EventRecord): boolean {
  return kind === 'MessageEvent' && source === 'user';
}

export function signalOf(event: EventRecord): RunSignal | null {
  if (isUserMessage(event)) return 'message';
  // A snapshot of the whole state has a status too, and is no change of it.
  const status = event.payload['key'] === 'execution_status' ? executionStatusOf(event) : null;
  if (status !== null)
    return status.toLowerCase() === 'running' ? 'status:running' : 'status:other';
  if (event.kind === 'UserRejectObservation') return 'rejection';
  return event.source === 'agent' ? 'activity' : null;
}

/** `idle`, `running`, `waiting_for_confirmation`, … (interface 7.2). */
export function executionStatusOf({ kind, payload }: EventRecord): string | null {
  if (kind !== 'ConversationStateUpdateEvent') return null;
  const { key, value } = payload;
  if (key === 'execution_status') return typeof value === 'string' ? value : null;
  return key === 'full_state' ? textAt(value, 'execution_status') || null : null;
}

/** Kinds that classify nothing (interface 14.2). */
const UNCLASSIFIED = ['', 'unknown', 'internal'];

export function reasonOfEvent({ kind, payload }: EventRecord): Reason | null {
  if (kind !== 'ConversationErrorEvent' && kind !== 'ServerErrorEvent') return null;
  const classified = textAt(payload, 'classification', 'kind');
  return {
    code: UNCLASSIFIED.includes(classified) ? textOf(payload['code']) || 'error' : classified,
    text: textOf(payload['detail']) || 'the server gives no reason',
  };
}

/** Parts of a streamed text, and snapshots of the state: no events of the history. */
export function isNoise({ kind, payload }: EventRecord): boolean {
  if (kind === 'StreamingDeltaEvent' || kind === 'TokenEvent') return true;
  return kind === 'ConversationStateUpdateEvent' && payload['key'] === 'full_state';
}

/** Pages of the history, with at most `limit` events in all. */
export async function* historyPages(
  pages: AsyncIterable<readonly EventRecord[]>,
  conversationId: string,
  redaction: Redaction,
  limit = Infinity,
): AsyncGenerator<ConversationEvent[], void, void> {
  let left = limit;
  for await (const page of pages) {
    const events = page.filter((event) => !isNoise(event)).slice(0, left);
    yield events.map((event) => toEvent(event, conversationId, redaction));
    left -= events.length;
    if (left <= 0) return;
  }
}

/** Reads back to the latest user message: an earlier answer does not count (interface 12). */
export async function finalAnswer(
  newestFirst: AsyncIterable<EventRecord>,
  redaction: Redaction,
): Promise<FinalAnswer | null> {
  for await (const event of newestFirst) {
    if (isUserMessage(event)) return null;
    const text = answerOf(event);
    if (text !== '') return { text: redaction.known(text), event_id: event.id };
  }
  return null;
}

function answerOf({ kind, source, payload }: EventRecord): string {
  if (kind === 'ActionEvent' && textAt(payload, 'action', 'kind') === 'FinishAction')
    return textAt(payload, 'action', 'message');
  if (kind !== 'MessageEvent' || source !== 'agent') return '';
  return contentTexts(member(payload, 'llm_message', 'content')).join('');
}
