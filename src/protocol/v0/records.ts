/** Interface 3. */
import { asList, asRecord, optionalTexts, requiredText, ShapeError } from '../shape.ts';

export type ConversationInfo = ReturnType<typeof readConversationInfo>;

const CONVERSATION_TEXTS = [
  'title',
  'runtime_status',
  'selected_repository',
  'selected_branch',
  'git_provider',
  'created_at',
  'last_updated_at',
  /** Relative on a self-hosted server, the runtime's own host on the cloud. */
  'url',
  'session_api_key',
  /** `V0`, `V1`, or null where the server is older than the word. */
  'conversation_version',
  /** The local service alone. */
  'local_sandbox_id',
  /** The local service alone; genuine servers report it in events. */
  'local_agent_state',
  /** The local service alone: the commit that was cloned. */
  'local_base_commit',
] as const;

export function readConversationInfo(value: unknown, subject = 'conversation') {
  const record = asRecord(value, subject);
  return {
    conversation_id: requiredText(record, 'conversation_id', subject),
    status: requiredText(record, 'status', subject),
    ...optionalTexts(record, CONVERSATION_TEXTS, subject),
  };
}

export type EventRecordV0 = ReturnType<typeof readEventV0>;

export function readEventV0(value: unknown, subject = 'event') {
  const record = asRecord(value, subject);
  const id = record['id'];
  if (typeof id !== 'number') throw new ShapeError(`${subject}.id`, 'a number');
  return {
    id,
    ...optionalTexts(record, ['timestamp', 'source', 'action', 'observation'], subject),
    payload: record,
  };
}

export function readEventsV0(
  value: unknown,
  subject = 'events',
): { events: EventRecordV0[]; has_more: boolean } {
  const record = asRecord(value, subject);
  return {
    events: asList(record['events'], `${subject}.events`).map((item, index) =>
      readEventV0(item, `${subject}[${index}]`),
    ),
    has_more: record['has_more'] === true,
  };
}
