import * as v from 'valibot';
import {
  dictionary,
  executionStatus,
  integer,
  textOrNull,
  texts,
  textsOrNull,
} from '../http/records.ts';

export const conversation = v.object({
  ...texts('id', 'persistence_dir', 'created_at', 'updated_at'),
  ...textsOrNull('last_user_message_id', 'leaf_event_id', 'title'),
  workspace: v.object(texts('working_dir', 'kind')),
  max_iterations: integer(),
  stuck_detection: v.boolean(),
  execution_status: executionStatus,
  confirmation_policy: v.object(texts('kind')),
  security_analyzer: v.nullable(v.object(texts('kind'))),
  stats: dictionary(),
  secret_registry: dictionary(),
  tags: v.record(v.string(), v.string()),
  agent: v.object({ kind: v.string(), llm: dictionary(), tools: v.array(v.object(texts('name'))) }),
});

export const settings = v.object({
  agent_settings: dictionary(),
  conversation_settings: dictionary(),
  llm_api_key_is_set: v.boolean(),
  active_profile: textOrNull(),
});

export const bashCommandEvent = v.object({
  ...texts('id', 'timestamp', 'command'),
  kind: v.literal('BashCommand'),
  cwd: textOrNull(),
  timeout: integer(),
});
/** `exit_code` is null until the last piece; -1: ended by its timeout or not started. */
export const bashOutputEvent = v.object({
  ...texts('id', 'timestamp', 'command_id'),
  ...textsOrNull('stdout', 'stderr'),
  kind: v.literal('BashOutput'),
  order: integer(),
  exit_code: v.nullable(integer()),
});
