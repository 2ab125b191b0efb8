// The settings of an app server (interface 2.1 to 2.6), one row each. Below `agent_settings` and
// `conversation_settings` V1 has more, which its schema routes list.
export type JsonValue =
  string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function valueAt(object: JsonObject, dottedPath: string): JsonValue | undefined {
  return dottedPath
    .split('.')
    .reduce<JsonValue | undefined>(
      (value, name) => (isJsonObject(value) ? value[name] : undefined),
      object,
    );
}

export function setAt(object: JsonObject, dottedPath: string, value: JsonValue | undefined): void {
  const names = dottedPath.split('.');
  const last = names.pop() ?? '';
  let holder = object;
  for (const name of names) {
    const next = holder[name];
    holder = isJsonObject(next) ? next : (holder[name] = {});
  }
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else holder[last] = value;
}

export type SettingType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';

export interface Setting {
  /** The name at the top level, and with which `acs settings` takes it. */
  name: string;
  type: SettingType;
  description: string;
  default: JsonValue;
  nullable: boolean;
  secret: boolean;
  choices: readonly string[] | null;
  minimum: number | null;
  path?: string;
  /** `newer`: V1, and the last releases with V0. */
  servers: 'all' | 'V0' | 'V1' | 'newer';
  /** The dialects that keep the value when null is written. */
  keptByNull: readonly ('V0' | 'V1')[];
  /** No choice of a user: `acs settings` does not list it. */
  internal: boolean;
}

const USUAL = {
  default: null,
  nullable: true,
  secret: false,
  choices: null,
  minimum: null,
  servers: 'all',
  keptByNull: [],
  internal: false,
} as const;

const row = (
  name: string,
  type: SettingType,
  description: string,
  other: Partial<Setting> = {},
): Setting => ({ ...USUAL, name, type, description, ...other });
const always = (value: JsonValue) => ({ nullable: false, default: value });

export const SETTINGS: readonly Setting[] = [
  row('language', 'string', 'Language of the user interface'),
  row('agent', 'string', 'Agent that works on conversations', {
    default: 'CodeActAgent',
    path: 'agent_settings.agent',
  }),
  row('max_iterations', 'integer', 'Most steps of one run', {
    minimum: 1,
    default: 500,
    path: 'conversation_settings.max_iterations',
  }),
  row('security_analyzer', 'string', 'What judges the risk of an action', {
    path: 'conversation_settings.security_analyzer',
  }),
  row('confirmation_mode', 'boolean', 'Whether risky actions wait for a confirmation', {
    default: false,
    path: 'conversation_settings.confirmation_mode',
  }),
  row('llm_model', 'string', 'Model, as provider/name', {
    path: 'agent_settings.llm.model',
    keptByNull: ['V0'],
  }),
  row('llm_api_key', 'string', 'Key of the model provider', {
    secret: true,
    path: 'agent_settings.llm.api_key',
    keptByNull: ['V0'],
  }),
  row('llm_base_url', 'string', 'URL of the model provider, if not its own', {
    path: 'agent_settings.llm.base_url',
    keptByNull: ['V0'],
  }),
  row('remote_runtime_resource_factor', 'integer', 'Size of a remote runtime', {
    choices: ['1', '2', '4', '8'],
  }),
  row('secrets_store', 'object', 'Tokens of git providers and custom secrets, read-only', {
    nullable: false,
    secret: true,
  }),
  row('enable_default_condenser', 'boolean', 'Whether long histories are condensed', {
    ...always(true),
    path: 'agent_settings.condenser.enabled',
  }),
  row('enable_sound_notifications', 'boolean', 'Sounds in the user interface', always(false)),
  row(
    'enable_proactive_conversation_starters',
    'boolean',
    'Conversations the server proposes',
    always(true),
  ),
  row(
    'enable_solvability_analysis',
    'boolean',
    'Whether issues are judged before they are worked on',
    { ...always(true), servers: 'V0' },
  ),
  row('user_consents_to_analytics', 'boolean', 'Whether the server may gather statistics of use', {
    keptByNull: ['V0', 'V1'],
  }),
  row('sandbox_base_container_image', 'string', 'Image sandboxes are built from'),
  row('sandbox_runtime_container_image', 'string', 'Image sandboxes are started from'),
  row('mcp_config', 'object', 'MCP servers: sse_servers, shttp_servers, stdio_servers', {
    path: 'agent_settings.mcp_config',
  }),
  row('search_api_key', 'string', 'Key of the web search', { secret: true, keptByNull: ['V0'] }),
  row('sandbox_api_key', 'string', 'Key of the sandbox provider', { secret: true }),
  row('max_budget_per_task', 'number', 'Most a run may cost, in US dollars', { minimum: 0 }),
  row('email', 'string', 'Address of the user'),
  row('email_verified', 'boolean', 'Whether that address is verified'),
  row('git_user_name', 'string', 'Author of commits'),
  row('git_user_email', 'string', 'Address of the author of commits'),
  row('sandbox_grouping_strategy', 'string', 'Which sandbox a new conversation gets', {
    ...always('NO_GROUPING'),
    servers: 'newer',
    choices: [
      'NO_GROUPING',
      'GROUP_BY_NEWEST',
      'LEAST_RECENTLY_USED',
      'FEWEST_CONVERSATIONS',
      'ADD_TO_ANY',
    ],
  }),
  row('default_sandbox_spec_id', 'string', 'Sandbox spec that is taken when none is named', {
    servers: 'V1',
  }),
  row('disabled_skills', 'array', 'Names of skills that are switched off', {
    servers: 'newer',
    keptByNull: ['V1'],
  }),
  row('title_llm_profile', 'string', 'Model profile that makes titles', { servers: 'V1' }),
  row('git_full_clone', 'boolean', 'Whether repositories are cloned with their history', {
    ...always(false),
    servers: 'V1',
  }),
  row('condenser_max_size', 'integer', 'Events that are kept before a history is condensed', {
    servers: 'newer',
    minimum: 20,
    path: 'agent_settings.condenser.max_size',
    internal: true,
  }),
  row('user_version', 'integer', 'Version of the record of the user', { internal: true }),
  row('v1_enabled', 'boolean', 'Whether V1 is served', {
    ...always(true),
    servers: 'newer',
    internal: true,
  }),
  row('registered_marketplaces', 'array', 'Sources of skills', {
    ...always([]),
    servers: 'V1',
    internal: true,
  }),
];

/** Those that are stored as they are, at the top level. */
export const PLAIN_SETTINGS = SETTINGS.filter(
  ({ name, path }) => path === undefined && name !== 'secrets_store',
);

export const IS_OF_TYPE: Record<SettingType, (value: JsonValue) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: isJsonObject,
};
