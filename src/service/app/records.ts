import * as v from 'valibot';
import {
  dictionary,
  executionStatus,
  integer,
  metrics,
  textOrNull,
  texts,
  textsOrNull,
} from '../http/records.ts';

const sandboxStatus = v.picklist(['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING']);
const publicFlag = v.nullable(v.boolean());
const repositoryNames = textsOrNull('selected_repository', 'selected_branch', 'git_provider');

export const sharedConversation = v.object({
  ...texts('id', 'created_at', 'updated_at'),
  ...repositoryNames,
  ...textsOrNull('sandbox_id', 'title', 'llm_model', 'parent_conversation_id'),
  created_by_user_id: v.null(),
  pr_number: v.array(integer()),
  metrics,
  sub_conversation_ids: v.array(v.string()),
});

export const appConversation = v.object({
  ...sharedConversation.entries,
  ...texts('agent_kind'),
  ...textsOrNull('trigger', 'conversation_url', 'session_api_key'),
  public: publicFlag,
  tags: v.record(v.string(), v.string()),
  sandbox_status: sandboxStatus,
  execution_status: v.nullable(executionStatus),
  acp_server: v.null(),
  launched_agent_profile: v.null(),
});

export const startTask = v.object({
  ...texts('id', 'created_at', 'updated_at'),
  ...textsOrNull('detail', 'app_conversation_id', 'sandbox_id', 'agent_server_url'),
  created_by_user_id: v.null(),
  status: v.picklist([
    'WORKING',
    'WAITING_FOR_SANDBOX',
    'PREPARING_REPOSITORY',
    'RUNNING_SETUP_SCRIPT',
    'STARTING_CONVERSATION',
    'READY',
    'ERROR',
  ]),
  request: dictionary(),
});

export const sandbox = v.object({
  ...texts('id', 'sandbox_spec_id', 'created_at', 'last_active_at'),
  ...textsOrNull('status_detail', 'session_api_key'),
  created_by_user_id: v.null(),
  status: sandboxStatus,
  exposed_urls: v.nullable(v.array(v.object({ ...texts('name', 'url'), port: integer() }))),
});

export const sandboxSpec = v.object({
  ...texts('id', 'created_at', 'working_dir'),
  command: v.array(v.string()),
  initial_env: v.record(v.string(), v.string()),
});

export const conversationInfo = v.object({
  ...texts('conversation_id', 'title', 'last_updated_at', 'status', 'created_at'),
  ...repositoryNames,
  ...textsOrNull('runtime_status', 'trigger', 'url', 'session_api_key', 'sandbox_id'),
  num_connections: integer(),
  pr_number: v.array(integer()),
  conversation_version: v.picklist(['V0', 'V1']),
  sub_conversation_ids: v.array(v.string()),
  public: publicFlag,
});

export const conversationAnswer = v.object({
  ...texts('status', 'conversation_id', 'conversation_status'),
  message: textOrNull(),
});

/** The other members depend on `action` or `observation` (interface section 7.6). */
export const eventV0 = v.object({ id: integer(), ...texts('timestamp', 'source', 'message') });

export const statusError = v.object(texts('status'));

export const repository = v.object({
  ...texts('id', 'full_name', 'git_provider', 'owner_type'),
  ...textsOrNull('pushed_at', 'main_branch'),
  is_public: v.boolean(),
  stargazers_count: integer(),
});

export const branch = v.object({
  ...texts('name', 'commit_sha'),
  protected: v.boolean(),
  last_push_date: textOrNull(),
});

export const task = v.object({
  ...texts('git_provider', 'task_type', 'repo', 'title'),
  issue_number: integer(),
});

/** Both dialects have these; the other members are those of the request. */
const storedSettings = {
  provider_tokens_set: dictionary(),
  llm_api_key_set: v.boolean(),
  search_api_key_set: v.boolean(),
};
const nestedSettings = {
  agent_settings: dictionary(),
  conversation_settings: dictionary(),
  llm_profiles: v.object({ profiles: dictionary(), active: textOrNull() }),
};
export const shownSettings = v.object({ ...nestedSettings, ...storedSettings });
export const shownSettingsV0 = v.object({
  ...storedSettings,
  ...textsOrNull('llm_model', 'agent'),
});
export const user = v.object({ ...nestedSettings, id: v.null() });

export const settingsSchema = v.object({
  model_name: v.string(),
  sections: v.array(
    v.object({ ...texts('key', 'label'), fields: v.array(dictionary()), variant: textOrNull() }),
  ),
});

export const modelProfile = v.object({
  name: v.string(),
  ...textsOrNull('model', 'base_url'),
  api_key_set: v.boolean(),
});
