import type { Reason } from '../../domain/conversation.ts';
import { textAt, textOf, eventText } from '../../domain/event-payload.ts';
import type { ConversationEvent, RunSignal } from '../../domain/event.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type { Redaction } from '../http/redaction.ts';
import type { Links } from '../shared/links.ts';
import { searchAppEvents } from './calls.ts';

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

export function reasonOfEvent({ kind, payload }: EventRecord): Reason | null {
  if (kind !== 'ConversationErrorEvent' && kind !== 'ServerErrorEvent') return null;
  return {
    code: textOf(payload['code']) || 'error',
    text: textOf(payload['detail']) || 'the server gives no reason',
  };
}

/** Parts of a streamed text, and snapshots of the state: no events of the history. */
export function isNoise({ kind, payload }: EventRecord): boolean {
  if (kind === 'StreamingDeltaEvent' || kind === 'TokenEvent') return true;
  return kind === 'ConversationStateUpdateEvent' && payload['key'] === 'full_state';
}

export async function lastExecutionStatus(links: Links, id: string): Promise<string | null> {
  const filter = {
    kind: 'ConversationStateUpdateEvent',
    order: 'TIMESTAMP_DESC',
    limit: 50,
  } as const;
  let left = 200;
  for await (const event of allPages(byId, (page) => searchAppEvents(links, id, filter, page))) {
    const status = executionStatusOf(event);
    if (status !== null || --left === 0) return status;
  }
  return null;
}
