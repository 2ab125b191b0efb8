/** Interface sections 2 and 3. */
import * as v from 'valibot';
import {
  closedRecord,
  dictionary,
  integer,
  integerFrom,
  list,
  mapOf,
  maybe,
  notList,
  oneOf,
  record,
  storableText,
  text,
  textOf,
  textThat,
  truth,
} from '../detail.ts';
import { SETTINGS, type JsonObject } from '../settings.ts';
import { provider, settingSchema, suggestedTask, TASK_TYPES, TRIGGERS } from '../v1/requests.ts';

const URL_SCHEME = /^(?:https?|wss?):\/\/[^\s/]+/i;
const url = textThat(
  (value) => URL_SCHEME.test(value),
  'URL must use http, https, ws or wss scheme',
);

const stdioArguments = v.pipe(
  v.unknown(),
  v.transform((given) =>
    typeof given === 'string'
      ? [...given.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
          (match) => match[1] ?? match[2] ?? match[3] ?? '',
        )
      : given,
  ),
  list(text),
);

const stdioEnvironment = v.pipe(
  v.unknown(),
  v.transform((given) => (typeof given === 'string' ? splitAssignments(given) : given)),
  mapOf(text),
);

/** Unknown members are refused at the top, and ignored within a server. */
export const mcpConfig = closedRecord({
  sse_servers: v.optional(list(record({ url: url, api_key: maybe(text) })), []),
  shttp_servers: v.optional(
    list(record({ url: url, api_key: maybe(text), timeout: maybe(integerFrom(1, 3600)) })),
    [],
  ),
  stdio_servers: v.optional(
    list(
      record({
        name: textThat(
          (name) => /^[A-Za-z0-9_-]+$/.test(name),
          'Server name can only contain letters, numbers, hyphens, and underscores',
        ),
        command: textThat(
          (command) => /^\S+$/.test(command),
          'Command should be a single executable without spaces',
        ),
        args: maybe(stdioArguments),
        env: maybe(stdioEnvironment),
      }),
    ),
    [],
  ),
});
export type McpConfigV0 = v.InferOutput<typeof mcpConfig>;

function splitAssignments(text: string): Record<string, string> | string {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  if (pairs.some((pair) => !pair.includes('='))) return text;
  const parts = pairs.map((pair) => /^([^=]*)=(.*)$/s.exec(pair) ?? []);
  return Object.fromEntries(parts.map(([, name = '', value = '']) => [name.trim(), value.trim()]));
}

/** `secrets_store` is taken and dropped, as genuine servers do. */
export const settings = record({
  ...Object.fromEntries(
    SETTINGS.filter(({ servers }) => servers !== 'V1').map((row) => [
      row.name,
      row.nullable || row.secret
        ? maybe(settingSchema(row))
        : v.optional(settingSchema(row), row.default),
    ]),
  ),
  max_iterations: maybe(integerFrom(1)),
  mcp_config: maybe(mcpConfig),
  condenser_max_size: maybe(
    v.pipe(integer, v.minValue(20, 'value_error: condenser_max_size must be at least 20')),
  ),
});
export type SettingsV0 = JsonObject & { mcp_config?: McpConfigV0 | null | undefined };

export const conversationCreate = closedRecord({
  repository: maybe(text),
  git_provider: maybe(provider),
  selected_branch: maybe(text),
  initial_user_msg: maybe(text),
  image_urls: maybe(list(text)),
  replay_json: maybe(text),
  suggested_task: maybe(suggestedTask([...TASK_TYPES, 'CREATE_MICROAGENT'])),
  create_microagent: maybe(
    record({ repo: text, git_provider: maybe(provider), title: maybe(text) }),
  ),
  conversation_instructions: maybe(text),
  mcp_config: maybe(mcpConfig),
  conversation_id: maybe(text),
});
export type ConversationCreateV0 = v.InferOutput<typeof conversationCreate>;

export const conversationPatch = closedRecord({ title: textOf(1, 200) });
export const conversationStart = record({ providers_set: maybe(list(provider)) });
export const eventPost = record({ action: text, args: v.optional(dictionary, {}) });

export const conversationListQuery = record({
  page_id: v.optional(text),
  limit: v.optional(integerFrom(0), 20),
  selected_repository: v.optional(text),
  conversation_trigger: v.optional(oneOf(TRIGGERS.filter((each) => each !== 'automation'))),
  include_sub_conversations: v.optional(truth, false),
});
/** The upper bound of `limit` is checked by the route, which answers it with 400. */
export const eventListQuery = record({
  start_id: v.optional(integer, 0),
  end_id: v.optional(integer),
  reverse: v.optional(truth, false),
  limit: v.optional(integer, 20),
});
export const selectFileQuery = record({ file: text });
export const gitDiffQuery = record({ path: text });

export const secretCreate = record({
  name: storableText,
  value: storableText,
  description: maybe(storableText),
});
const providerToken = record({ token: maybe(text), user_id: maybe(text), host: maybe(text) });
export const gitProviders = record({
  provider_tokens: maybe(notList(v.record(provider, providerToken), 'dict_type')),
  mcp_config: maybe(mcpConfig),
});

const selected = { selected_provider: v.optional(provider) };
export const repositoryListQuery = record({
  ...selected,
  page: v.optional(integerFrom(1)),
  per_page: v.optional(integerFrom(1)),
});
export const repositorySearchQuery = record({
  ...selected,
  query: text,
  per_page: v.optional(integerFrom(1), 5),
});
const ofRepository = { ...selected, repository: text, per_page: v.optional(integerFrom(1), 30) };
export const branchSearchQuery = record({ ...ofRepository, query: text });
export const branchListQuery = record({ ...ofRepository, page: v.optional(integerFrom(1), 1) });
