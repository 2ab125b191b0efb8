/** Interface sections 2, 4 and 5. */
import * as v from 'valibot';
import { confirmationPolicy, ROLES } from '../agent-server/requests.ts';
import {
  anyOf,
  closedRecord,
  dictionary,
  filledList,
  list,
  mapOf,
  maybe,
  integer,
  literal,
  number,
  oneOf,
  page,
  record,
  storableText,
  text,
  textLike,
  textOf,
  textThat,
  time,
  truth,
  uuid,
} from '../detail.ts';
import { GIT_PROVIDERS } from '../git-providers.ts';
import { PLAIN_SETTINGS, type Setting, type SettingType } from '../settings.ts';

export type Provider = (typeof GIT_PROVIDERS)[number];
export const provider = oneOf(GIT_PROVIDERS);

export const TRIGGERS = [
  'resolver',
  'gui',
  'suggested_task',
  'openhands_api',
  'slack',
  'microagent_management',
  'jira',
  'jira_dc',
  'linear',
  'bitbucket',
  'automation',
] as const;

export const TASK_TYPES = [
  'MERGE_CONFLICTS',
  'FAILING_CHECKS',
  'UNRESOLVED_COMMENTS',
  'OPEN_ISSUE',
  'OPEN_PR',
] as const;

export const suggestedTask = (taskTypes: readonly string[] = TASK_TYPES) =>
  record({
    git_provider: provider,
    task_type: oneOf(taskTypes),
    repo: text,
    issue_number: integer,
    title: text,
  });

const textContent = closedRecord({
  type: v.optional(literal(['text']), 'text'),
  text: text,
  cache_prompt: v.optional(truth, false),
});
const imageContent = record({
  type: v.optional(literal(['image']), 'image'),
  image_urls: list(text),
  cache_prompt: v.optional(truth, false),
});

export const content = anyOf({ TextContent: textContent, ImageContent: imageContent });

const initialMessage = record({
  role: v.optional(oneOf(ROLES), 'user'),
  content: v.optional(list(content), []),
  run: v.optional(truth, false),
});

/** The last six are this service's own extensions. */
export const appConversationStart = record({
  sandbox_id: maybe(text),
  conversation_id: maybe(uuid),
  initial_message: maybe(initialMessage),
  system_message_suffix: maybe(text),
  processors: maybe(list(dictionary)),
  llm_model: maybe(text),
  agent_profile_id: maybe(text),
  selected_repository: maybe(text),
  selected_branch: maybe(text),
  git_provider: maybe(provider),
  suggested_task: maybe(suggestedTask()),
  title: maybe(storableText),
  trigger: maybe(oneOf(TRIGGERS)),
  pr_number: v.optional(list(integer), []),
  parent_conversation_id: maybe(uuid),
  agent_type: v.optional(oneOf(['default', 'plan']), 'default'),
  public: maybe(truth),
  plugins: maybe(
    list(
      record({
        source: text,
        ref: maybe(text),
        repo_path: maybe(text),
        parameters: maybe(dictionary),
      }),
    ),
  ),
  secrets: maybe(mapOf(text)),
  observability_metadata: maybe(dictionary),
  observability_tags: maybe(list(text)),
  observability_span_name: maybe(text),
  replay_json: maybe(text),
  sandbox_spec_id: maybe(text),
  confirmation_policy: maybe(confirmationPolicy),
  workspace_commit: maybe(text),
  workspace_dependencies: maybe(truth),
  mcp_config: maybe(mapOf(dictionary)),
});
export type AppConversationStart = v.InferOutput<typeof appConversationStart>;

export const appConversationPatch = record({
  title: maybe(storableText),
  public: maybe(truth),
  selected_repository: maybe(text),
  selected_branch: maybe(text),
  git_provider: maybe(provider),
});

export const sendMessage = record({
  role: v.optional(oneOf(['user']), 'user'),
  content: filledList(content),
  run: v.optional(truth, true),
});

export const switchProfile = record({ profile_name: textOf(1, 64) });

export const switchAcpModel = record({ model: textOf(1, 1000) });

const conversationFilter = {
  title__contains: v.optional(text),
  created_at__gte: v.optional(time),
  created_at__lt: v.optional(time),
  updated_at__gte: v.optional(time),
  updated_at__lt: v.optional(time),
  sandbox_id__eq: v.optional(text),
  include_sub_conversations: v.optional(truth, false),
};
export const conversationCountQuery = record(conversationFilter);
export const conversationSearchQuery = record({ ...conversationFilter, ...page() });

const startTaskFilter = {
  conversation_id__eq: v.optional(uuid),
  created_at__gte: v.optional(time),
};
export const startTaskSearchQuery = record({
  ...startTaskFilter,
  ...page(),
  sort_order: v.optional(
    oneOf(['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']),
    'CREATED_AT_DESC',
  ),
});

export const EVENT_KINDS = [
  'ServerErrorEvent',
  'ACPToolCallEvent',
  'Condensation',
  'CondensationRequest',
  'CondensationSummaryEvent',
  'ConversationErrorEvent',
  'ConversationStateUpdateEvent',
  'HookExecutionEvent',
  'InterruptEvent',
  'LLMCompletionLogEvent',
  'ActionEvent',
  'MessageEvent',
  'AgentErrorEvent',
  'ObservationEvent',
  'UserRejectObservation',
  'SystemPromptEvent',
  'PauseEvent',
  'StreamingDeltaEvent',
  'TokenEvent',
] as const;

const eventFilter = {
  kind__eq: v.optional(literal(EVENT_KINDS)),
  timestamp__gte: v.optional(time),
  timestamp__lt: v.optional(time),
};
export const eventCountQuery = record(eventFilter);
export const eventSearchQuery = record({
  ...eventFilter,
  ...page(),
  sort_order: v.optional(oneOf(['TIMESTAMP', 'TIMESTAMP_DESC']), 'TIMESTAMP'),
});

export const pageQuery = record(page());

export const startTaskQuery = record({ ids: filledList(uuid) });

export const gitSearchQuery = record({ provider, ...page() });
export const repositorySearchQuery = record({
  ...gitSearchQuery.entries,
  query: v.optional(text, ''),
});
export const branchSearchQuery = record({
  provider,
  repository: text,
  query: text,
  ...page(30),
});
export const configSearchQuery = record({ query: v.optional(text), ...page(50) });

const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const secretName = textThat(
  (name) => SECRET_NAME.test(name),
  'Invalid secret name. Must start with a letter or underscore, and contain only ' +
    'alphanumeric characters and underscores.',
);
export const secretCreate = record({
  name: secretName,
  value: storableText,
  description: maybe(storableText),
});
export const secretUpdate = record({ name: secretName, description: maybe(storableText) });
export const secretSearchQuery = record({ name__contains: v.optional(text), ...page() });

export const PROFILE_NAME = /^[A-Za-z0-9._-]{1,64}$/;
export const profileName = textLike(PROFILE_NAME);
export const profileRename = record({ new_name: profileName });
export const profileSave = record({
  include_secrets: v.optional(truth, true),
  llm: maybe(dictionary),
  preserve_existing_api_key: v.optional(truth, false),
});

const SETTING_SCHEMAS = {
  string: text,
  integer,
  number,
  boolean: truth,
  array: list(text),
  object: dictionary,
} satisfies Record<SettingType, v.GenericSchema>;

/** Bounds of numbers are left to the dialect. */
export const settingSchema = ({ type, choices }: Setting): v.GenericSchema =>
  type === 'string' && choices !== null ? oneOf(choices) : SETTING_SCHEMAS[type];

export const plainSettings = record({
  ...Object.fromEntries(
    PLAIN_SETTINGS.filter(({ servers }) => servers !== 'V0').map((row) => [
      row.name,
      maybe(settingSchema(row)),
    ]),
  ),
  registered_marketplaces: maybe(list(v.unknown())),
});
