/** From V1's events to the domain's. */
import type { ConversationEvent, RunSignal } from '../../domain/event.ts';
import { eventTextV1 } from '../../domain/event-text.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import { normalizeTime } from '../../text/time.ts';
import type { Redaction } from '../transport/redaction.ts';

export function toEvent(record: EventRecord, conversationId: string, redaction: Redaction): ConversationEvent {
  const payload = redaction.part(record.payload);
  const text = eventTextV1(record.kind, payload);
  const event: ConversationEvent = {
    type: 'event',
    id: record.id,
    conversation_id: conversationId,
    timestamp: normalizeTime(record.timestamp),
    source: record.source,
    kind: record.kind,
    text,
    payload,
    signal: signalOf(record),
  };
  return redaction.mark(event, [record.id, conversationId, record.source ?? '', record.kind, text]);
}

/** `execution_status` is idle, running, paused, waiting_for_confirmation, finished, error or stuck (interface 7.2). */
function signalOf({ kind, source, payload }: EventRecord): RunSignal | null {
  if (kind === 'MessageEvent' && source === 'user') return 'message';
  const { key, value } = payload;
  if (kind === 'ConversationStateUpdateEvent' && key === 'execution_status' && typeof value === 'string') {
    return value.toLowerCase() === 'running' ? 'status:running' : 'status:other';
  }
  if (kind === 'UserRejectObservation') return 'rejection';
  return source === 'agent' ? 'activity' : null;
}

/** Deltas of a streamed text, and snapshots of the whole state: neither is an event of the history. */
export function isNoise(record: EventRecord): boolean {
  if (record.kind === 'StreamingDeltaEvent' || record.kind === 'TokenEvent') return true;
  return record.kind === 'ConversationStateUpdateEvent' && record.payload['key'] === 'full_state';
}
