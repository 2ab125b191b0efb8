/**
 * Types, bounds and choices of schema `Settings` and interface 2.1 to 2.5. V1 may store a wrong
 * type with 200.
 */
import { checkMcpConfig, checkMcpConfigV1 } from './mcp-config.ts';
import { isJsonObject, type JsonValue, type SettingsField } from './settings.ts';

const USUAL = {
  nullable: true,
  secret: false,
  default: null,
  choices: null,
  minimum: null,
  maximum: null,
};

function field(
  name: string,
  type: SettingsField['type'],
  description: string,
  shape: Partial<SettingsField> = {},
): SettingsField {
  return { ...USUAL, name, type, description, ...shape };
}

export const SETTINGS_FIELDS: readonly SettingsField[] = [
  field('language', 'string', 'Language of the user interface'),
  field('agent', 'string', 'Agent that works on conversations', {
    default: 'CodeActAgent',
    path: 'agent_settings.agent',
  }),
  field('max_iterations', 'integer', 'Most steps of one run', {
    minimum: 1,
    default: 500,
    path: 'conversation_settings.max_iterations',
  }),
  field('security_analyzer', 'string', 'What judges the risk of an action', {
    path: 'conversation_settings.security_analyzer',
  }),
  field('confirmation_mode', 'boolean', 'Whether risky actions wait for a confirmation', {
    default: false,
    path: 'conversation_settings.confirmation_mode',
  }),
  field('llm_model', 'string', 'Model, as provider/name', { path: 'agent_settings.llm.model' }),
  field('llm_api_key', 'string', 'Key of the model provider', {
    secret: true,
    path: 'agent_settings.llm.api_key',
  }),
  field('llm_base_url', 'string', 'URL of the model provider, if not its own', {
    path: 'agent_settings.llm.base_url',
    check: (value) =>
      /^(https?:\/\/[^\s/@]+(\/\S*)?)?$/.test(String(value))
        ? null
        : 'must be an http or https URL without a user name',
  }),
  field('remote_runtime_resource_factor', 'integer', 'Size of a remote runtime', {
    choices: ['1', '2', '4', '8'],
  }),
  field('secrets_store', 'object', 'Tokens of git providers and custom secrets, read-only', {
    nullable: false,
    secret: true,
    check: () => 'is changed with acs secret set and acs git-provider set',
  }),
  field('enable_default_condenser', 'boolean', 'Whether long histories are condensed', {
    nullable: false,
    default: true,
    path: 'agent_settings.condenser.enabled',
  }),
  field('enable_sound_notifications', 'boolean', 'Sounds in the user interface', {
    nullable: false,
    default: false,
  }),
  field('enable_proactive_conversation_starters', 'boolean', 'Conversations the server proposes', {
    nullable: false,
    default: true,
  }),
  field(
    'enable_solvability_analysis',
    'boolean',
    'Whether issues are judged before they are worked on',
    {
      nullable: false,
      default: true,
    },
  ),
  field('user_consents_to_analytics', 'boolean', 'Whether the server may gather statistics of use'),
  field('sandbox_base_container_image', 'string', 'Image sandboxes are built from'),
  field('sandbox_runtime_container_image', 'string', 'Image sandboxes are started from'),
  field('mcp_config', 'object', 'MCP servers: sse_servers, shttp_servers, stdio_servers', {
    path: 'agent_settings.mcp_config',
  }),
  field('search_api_key', 'string', 'Key of the web search', { secret: true }),
  field('sandbox_api_key', 'string', 'Key of the sandbox provider', { secret: true }),
  field('max_budget_per_task', 'number', 'Most a run may cost, in US dollars', { minimum: 0 }),
  field('email', 'string', 'Address of the user'),
  field('email_verified', 'boolean', 'Whether that address is verified'),
  field('git_user_name', 'string', 'Author of commits'),
  field('git_user_email', 'string', 'Address of the author of commits'),
];

/** What V1 servers have besides, at the top level (interface 2.5). */
export const V1_FIELDS: readonly SettingsField[] = [
  field('sandbox_grouping_strategy', 'string', 'Which sandbox a new conversation gets', {
    nullable: false,
    default: 'NO_GROUPING',
    choices: [
      'NO_GROUPING',
      'GROUP_BY_NEWEST',
      'LEAST_RECENTLY_USED',
      'FEWEST_CONVERSATIONS',
      'ADD_TO_ANY',
    ],
  }),
  field('default_sandbox_spec_id', 'string', 'Sandbox spec that is taken when none is named'),
  field('disabled_skills', 'array', 'Names of skills that are switched off'),
  field('title_llm_profile', 'string', 'Model profile that makes titles'),
  field('git_full_clone', 'boolean', 'Whether repositories are cloned with their history', {
    nullable: false,
    default: false,
  }),
];

export const V0_FIELDS: readonly SettingsField[] = SETTINGS_FIELDS.map((one) =>
  one.name === 'mcp_config' ? { ...one, check: checkMcpConfig } : one,
);

export const FLAT_V1_FIELDS: readonly SettingsField[] = SETTINGS_FIELDS.filter(
  ({ name }) => name !== 'enable_solvability_analysis',
).map((one) => {
  if (one.name === 'security_analyzer') return { ...one, default: 'llm' };
  return one.name === 'mcp_config'
    ? { ...one, description: 'MCP servers by name', check: checkMcpConfigV1 }
    : one;
});

const TYPES: Record<SettingsField['type'], [is: (value: JsonValue) => boolean, words: string]> = {
  string: [(value) => typeof value === 'string', 'a text'],
  integer: [Number.isSafeInteger, 'a whole number'],
  number: [Number.isFinite, 'a number'],
  boolean: [(value) => typeof value === 'boolean', 'true or false'],
  array: [Array.isArray, 'a list'],
  object: [isJsonObject, 'an object'],
};

/** Null when the value may be sent. */
export function checkSettingsValue(
  { type, nullable, choices, minimum, maximum, check }: SettingsField,
  value: JsonValue,
): string | null {
  if (value === null) return nullable ? null : 'may not be null';
  const [is, words] = TYPES[type];
  if (!is(value)) return `must be ${words}`;
  if (choices !== null && !choices.includes(String(value)))
    return `must be one of ${choices.join(', ')}`;
  if (minimum !== null && Number(value) < minimum) return `must be at least ${minimum}`;
  if (maximum !== null && Number(value) > maximum) return `must be at most ${maximum}`;
  return check?.(value) ?? null;
}
