/** What V0 servers answer (interface 3), as far as acs uses it. */
import { asList, asRecord, optionalText, requiredText, ShapeError, type Json } from '../shape.ts';

export interface ConversationInfo {
  conversation_id: string;
  title: string | null;
  status: string;
  runtime_status: string | null;
  selected_repository: string | null;
  selected_branch: string | null;
  git_provider: string | null;
  created_at: string | null;
  last_updated_at: string | null;
  /** Relative on a self-hosted server, the runtime's own host on the cloud. */
  url: string | null;
  session_api_key: string | null;
  /** `V0`, `V1`, or null where the server is older than the word. */
  conversation_version: string | null;
  /** The sandbox that a V0 conversation of the local service runs in; genuine servers have none. */
  local_sandbox_id: string | null;
  /** How a run stands at the local service, in the words of the agent's state; genuine servers report it in events only. */
  local_agent_state: string | null;
}

export function readConversationInfo(value: unknown, place = 'conversation'): ConversationInfo {
  const record = asRecord(value, place);
  const text = (name: string): string | null => optionalText(record, name, place);
  return {
    conversation_id: requiredText(record, 'conversation_id', place),
    title: text('title'),
    status: requiredText(record, 'status', place),
    runtime_status: text('runtime_status'),
    selected_repository: text('selected_repository'),
    selected_branch: text('selected_branch'),
    git_provider: text('git_provider'),
    created_at: text('created_at'),
    last_updated_at: text('last_updated_at'),
    url: text('url'),
    session_api_key: text('session_api_key'),
    conversation_version: text('conversation_version'),
    local_sandbox_id: text('local_sandbox_id'),
    local_agent_state: text('local_agent_state'),
  };
}

/** One event of V0 (interface 7.6): an action or an observation with a number as its id. */
export interface EventRecordV0 {
  id: number;
  timestamp: string | null;
  source: string | null;
  action: string | null;
  observation: string | null;
  payload: Json;
}

export function readEventV0(value: unknown, place = 'event'): EventRecordV0 {
  const record = asRecord(value, place);
  const id = record['id'];
  if (typeof id !== 'number') throw new ShapeError(`${place}.id`, 'a number');
  return {
    id,
    timestamp: optionalText(record, 'timestamp', place),
    source: optionalText(record, 'source', place),
    action: optionalText(record, 'action', place),
    observation: optionalText(record, 'observation', place),
    payload: record,
  };
}

export function readEventsV0(value: unknown, place = 'events'): { events: EventRecordV0[]; has_more: boolean } {
  const record = asRecord(value, place);
  return {
    events: asList(record['events'], `${place}.events`).map((item, index) => readEventV0(item, `${place}[${index}]`)),
    has_more: record['has_more'] === true,
  };
}
