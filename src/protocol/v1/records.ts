/** What V1 app servers answer (interface 4.2, 4.3, 5.1, 6), as far as acs uses it. */
import {
  asList,
  asRecord,
  isRecord,
  optionalRecord,
  optionalText,
  requiredText,
  textList,
  type Json,
} from '../shape.ts';

export interface AppConversationRecord {
  id: string;
  title: string | null;
  sandbox_id: string | null;
  selected_repository: string | null;
  selected_branch: string | null;
  git_provider: string | null;
  /** Whether the app server's own notes of the start are in it: false where it keeps none, or lost them. */
  has_start_tags: boolean;
  llm_model: string | null;
  created_at: string | null;
  updated_at: string | null;
  sandbox_status: string | null;
  execution_status: string | null;
  /** `<agent server>/api/conversations/<id>`; null when the sandbox does not run. */
  conversation_url: string | null;
  session_api_key: string | null;
}

/** A tag that only the app server writes, at the start; recorded with 1.11.0, not yet with 1.6.0. */
const START_TAG = 'archiveworkspacepath';

export function readAppConversation(value: unknown, place = 'conversation'): AppConversationRecord {
  const record = asRecord(value, place);
  const text = (name: string): string | null => optionalText(record, name, place);
  return {
    id: requiredText(record, 'id', place),
    title: text('title'),
    sandbox_id: text('sandbox_id'),
    selected_repository: text('selected_repository'),
    selected_branch: text('selected_branch'),
    git_provider: text('git_provider'),
    has_start_tags: isRecord(record['tags']) && record['tags'][START_TAG] !== undefined,
    llm_model: text('llm_model'),
    created_at: text('created_at'),
    updated_at: text('updated_at'),
    sandbox_status: text('sandbox_status'),
    execution_status: text('execution_status'),
    conversation_url: text('conversation_url'),
    session_api_key: text('session_api_key'),
  };
}

export interface StartTaskRecord {
  id: string;
  /** WORKING … READY or ERROR; words invented later are steps. */
  status: string;
  detail: string | null;
  app_conversation_id: string | null;
  sandbox_id: string | null;
  created_at: string | null;
  updated_at: string | null;
  /** The request as the server returns it. */
  request: Json;
}

export function readStartTask(value: unknown, place = 'start task'): StartTaskRecord {
  const record = asRecord(value, place);
  return {
    id: requiredText(record, 'id', place),
    status: requiredText(record, 'status', place),
    detail: optionalText(record, 'detail', place),
    app_conversation_id: optionalText(record, 'app_conversation_id', place),
    sandbox_id: optionalText(record, 'sandbox_id', place),
    created_at: optionalText(record, 'created_at', place),
    updated_at: optionalText(record, 'updated_at', place),
    request: optionalRecord(record, 'request', place) ?? {},
  };
}

export interface SandboxRecord {
  id: string;
  sandbox_spec_id: string | null;
  status: string;
  status_detail: string | null;
  session_api_key: string | null;
  exposed_urls: { name: string; url: string }[];
  created_at: string | null;
  /** Sent by the local service only. */
  last_active_at: string | null;
}

export function readSandbox(value: unknown, place = 'sandbox'): SandboxRecord {
  const record = asRecord(value, place);
  const urls = record['exposed_urls'] ?? [];
  return {
    id: requiredText(record, 'id', place),
    sandbox_spec_id: optionalText(record, 'sandbox_spec_id', place),
    status: requiredText(record, 'status', place),
    status_detail: optionalText(record, 'status_detail', place),
    session_api_key: optionalText(record, 'session_api_key', place),
    exposed_urls: asList(urls, `${place}.exposed_urls`).map((item) => {
      const url = asRecord(item, `${place}.exposed_urls[]`);
      return { name: requiredText(url, 'name', place), url: requiredText(url, 'url', place) };
    }),
    created_at: optionalText(record, 'created_at', place),
    last_active_at: optionalText(record, 'last_active_at', place),
  };
}

export interface SpecRecord {
  id: string;
  command: string[] | null;
  created_at: string | null;
  working_dir: string | null;
}

export function readSpec(value: unknown, place = 'spec'): SpecRecord {
  const record = asRecord(value, place);
  return {
    id: requiredText(record, 'id', place),
    command: record['command'] == null ? null : textList(record, 'command', place),
    created_at: optionalText(record, 'created_at', place),
    working_dir: optionalText(record, 'working_dir', place),
  };
}

/** One event of V1, as both servers send it (interface 7.2); everything but the common members stays as it is. */
export interface EventRecord {
  id: string;
  timestamp: string | null;
  source: string | null;
  kind: string;
  payload: Json;
}

export function readEvent(value: unknown, place = 'event'): EventRecord {
  const record = asRecord(value, place);
  return {
    id: requiredText(record, 'id', place),
    timestamp: optionalText(record, 'timestamp', place),
    source: optionalText(record, 'source', place),
    kind: optionalText(record, 'kind', place) ?? 'unknown',
    payload: record,
  };
}
