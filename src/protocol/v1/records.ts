/** Interface 4.2, 4.3, 5.1, 6. */
import {
  asList,
  asRecord,
  optionalRecord,
  optionalText,
  optionalTexts,
  requiredText,
  textList,
} from '../shape.ts';

export type AppConversationRecord = ReturnType<typeof readAppConversation>;

const CONVERSATION_TEXTS = [
  'title',
  'sandbox_id',
  'selected_repository',
  'selected_branch',
  'git_provider',
  'llm_model',
  'created_at',
  'updated_at',
  'sandbox_status',
  'execution_status',
  /** `<agent server>/api/conversations/<id>`; null when the sandbox does not run. */
  'conversation_url',
  'session_api_key',
] as const;

export function readAppConversation(value: unknown, subject = 'conversation') {
  const record = asRecord(value, subject);
  return {
    id: requiredText(record, 'id', subject),
    ...optionalTexts(record, CONVERSATION_TEXTS, subject),
  };
}

export type StartTaskRecord = ReturnType<typeof readStartTask>;

export function readStartTask(value: unknown, subject = 'start task') {
  const record = asRecord(value, subject);
  return {
    id: requiredText(record, 'id', subject),
    /** WORKING … READY or ERROR; words invented later are steps. */
    status: requiredText(record, 'status', subject),
    ...optionalTexts(
      record,
      ['detail', 'app_conversation_id', 'sandbox_id', 'created_at', 'updated_at'],
      subject,
    ),
    request: optionalRecord(record, 'request', subject) ?? {},
  };
}

export type SandboxRecord = ReturnType<typeof readSandbox>;

/** Only the local service sends `last_active_at`. */
const SANDBOX_TEXTS = [
  'sandbox_spec_id',
  'status_detail',
  'session_api_key',
  'created_at',
  'last_active_at',
] as const;

export function readSandbox(value: unknown, subject = 'sandbox') {
  const record = asRecord(value, subject);
  return {
    id: requiredText(record, 'id', subject),
    status: requiredText(record, 'status', subject),
    ...optionalTexts(record, SANDBOX_TEXTS, subject),
    exposed_urls: asList(record['exposed_urls'] ?? [], `${subject}.exposed_urls`).map((item) => {
      const url = asRecord(item, `${subject}.exposed_urls[]`);
      return { name: requiredText(url, 'name', subject), url: requiredText(url, 'url', subject) };
    }),
  };
}

export type SpecRecord = ReturnType<typeof readSpec>;

export function readSpec(value: unknown, subject = 'spec') {
  const record = asRecord(value, subject);
  return {
    id: requiredText(record, 'id', subject),
    command: record['command'] == null ? null : textList(record, 'command', subject),
    ...optionalTexts(record, ['created_at', 'working_dir'], subject),
  };
}

export type EventRecord = ReturnType<typeof readEvent>;

export function readEvent(value: unknown, subject = 'event') {
  const record = asRecord(value, subject);
  return {
    id: requiredText(record, 'id', subject),
    timestamp: optionalText(record, 'timestamp', subject),
    source: optionalText(record, 'source', subject),
    kind: optionalText(record, 'kind', subject) ?? 'unknown',
    payload: record,
  };
}
