/** The records that the app server alone sends. */
import * as v from 'valibot';
import {
  dictionary,
  executionStatus,
  flag,
  integer,
  list,
  metrics,
  orNull,
  record,
  text,
  textOrNull,
} from './records.ts';

const sandboxStatus = v.picklist(['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING']);

export const sharedConversation = record({
  id: text(),
  created_by_user_id: v.null(),
  sandbox_id: textOrNull(),
  selected_repository: textOrNull(),
  selected_branch: textOrNull(),
  git_provider: textOrNull(),
  title: textOrNull(),
  pr_number: list(integer()),
  llm_model: textOrNull(),
  metrics,
  parent_conversation_id: textOrNull(),
  sub_conversation_ids: list(text()),
  created_at: text(),
  updated_at: text(),
});

export const appConversation = record({
  ...sharedConversation.entries,
  trigger: textOrNull(),
  agent_kind: text(),
  public: orNull(flag()),
  tags: v.record(v.string(), v.string()),
  sandbox_status: sandboxStatus,
  execution_status: orNull(executionStatus),
  conversation_url: textOrNull(),
  session_api_key: textOrNull(),
  acp_server: v.null(),
  launched_agent_profile: v.null(),
});

export const startTask = record({
  id: text(),
  created_by_user_id: v.null(),
  status: v.picklist([
    'WORKING',
    'WAITING_FOR_SANDBOX',
    'PREPARING_REPOSITORY',
    'STARTING_CONVERSATION',
    'READY',
    'ERROR',
  ]),
  detail: textOrNull(),
  app_conversation_id: textOrNull(),
  sandbox_id: textOrNull(),
  agent_server_url: textOrNull(),
  request: dictionary(),
  created_at: text(),
  updated_at: text(),
});

export const sandbox = record({
  id: text(),
  created_by_user_id: v.null(),
  sandbox_spec_id: text(),
  status: sandboxStatus,
  status_detail: textOrNull(),
  session_api_key: textOrNull(),
  exposed_urls: orNull(list(record({ name: text(), url: text(), port: integer() }))),
  created_at: text(),
  last_active_at: text(),
});

export const sandboxSpec = record({
  id: text(),
  command: list(text()),
  created_at: text(),
  initial_env: v.record(v.string(), v.string()),
  working_dir: text(),
});

export const conversationInfo = record({
  conversation_id: text(),
  title: text(),
  last_updated_at: text(),
  status: text(),
  runtime_status: textOrNull(),
  selected_repository: textOrNull(),
  selected_branch: textOrNull(),
  git_provider: textOrNull(),
  trigger: textOrNull(),
  num_connections: integer(),
  url: textOrNull(),
  session_api_key: textOrNull(),
  created_at: text(),
  pr_number: list(integer()),
  conversation_version: v.picklist(['V0', 'V1']),
  sub_conversation_ids: list(text()),
  public: orNull(flag()),
  sandbox_id: textOrNull(),
});

export const conversationAnswer = record({
  status: text(),
  conversation_id: text(),
  message: textOrNull(),
  conversation_status: text(),
});

/** The other members depend on `action` or `observation` (interface section 7.6). */
export const eventV0 = record({ id: integer(), timestamp: text(), source: text(), message: text() });

/** A refusal over V0; its other members depend on the route. */
export const statusError = record({ status: text() });

export const repository = record({
  id: text(),
  full_name: text(),
  git_provider: text(),
  is_public: flag(),
  stargazers_count: integer(),
  pushed_at: textOrNull(),
  owner_type: text(),
  main_branch: textOrNull(),
});

export const branch = record({
  name: text(),
  commit_sha: text(),
  protected: flag(),
  last_push_date: textOrNull(),
});

export const task = record({
  git_provider: text(),
  task_type: text(),
  repo: text(),
  issue_number: integer(),
  title: text(),
});

/** Of both dialects; the other members are those of the request. */
const storedSettings = { provider_tokens_set: dictionary(), llm_api_key_set: flag(), search_api_key_set: flag() };
const nestedSettings = {
  agent_settings: dictionary(),
  conversation_settings: dictionary(),
  llm_profiles: record({ profiles: dictionary(), active: textOrNull() }),
};
export const shownSettings = record({ ...nestedSettings, ...storedSettings });
export const shownSettingsV0 = record({ ...storedSettings, llm_model: textOrNull(), agent: textOrNull() });
export const user = record({ ...nestedSettings, id: v.null() });

export const settingsSchema = record({
  model_name: text(),
  sections: list(record({ key: text(), label: text(), fields: list(dictionary()), variant: textOrNull() })),
});

export const modelProfile = record({
  name: text(),
  model: textOrNull(),
  base_url: textOrNull(),
  api_key_set: flag(),
});
