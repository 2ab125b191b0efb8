/**
 * The 25 settings under their flat names: types, bounds and choices as the V0 document has them (schema `Settings`)
 * and as servers check them (interface 2.1 to 2.5). A V1 server may store a wrong type with 200 and then fail every
 * request, so values are checked here before they are sent.
 */
import { checkMcpConfig } from './mcp-config.ts';
import { checkSecretsStore } from './secrets-store.ts';
import type { JsonValue, SettingsField } from './settings.ts';

type Shape = Partial<Omit<SettingsField, 'name' | 'type' | 'description'>>;

function field(name: string, type: SettingsField['type'], description: string, shape: Shape = {}): SettingsField {
  const { nullable = true, secret = false, choices = null, minimum = null, maximum = null } = shape;
  return { name, type, nullable, secret, default: shape.default ?? null, choices, minimum, maximum, description };
}

export const SETTINGS_FIELDS: readonly SettingsField[] = [
  field('language', 'string', 'Language of the user interface'),
  field('agent', 'string', 'Agent that works on conversations', { default: 'CodeActAgent' }),
  field('max_iterations', 'integer', 'Most steps of one run', { minimum: 1, default: 500 }),
  field('security_analyzer', 'string', 'What judges the risk of an action'),
  field('confirmation_mode', 'boolean', 'Whether risky actions wait for a confirmation', { default: false }),
  field('llm_model', 'string', 'Model, as provider/name'),
  field('llm_api_key', 'string', 'Key of the model provider', { secret: true }),
  field('llm_base_url', 'string', 'Address of the model provider, if not its own'),
  field('remote_runtime_resource_factor', 'integer', 'Size of a remote runtime', { choices: ['1', '2', '4', '8'] }),
  field('secrets_store', 'object', 'Tokens of git providers and custom secrets', { nullable: false, secret: true }),
  field('enable_default_condenser', 'boolean', 'Whether long histories are condensed', {
    nullable: false,
    default: true,
  }),
  field('enable_sound_notifications', 'boolean', 'Sounds in the user interface', { nullable: false, default: false }),
  field('enable_proactive_conversation_starters', 'boolean', 'Conversations the server proposes', {
    nullable: false,
    default: true,
  }),
  field('enable_solvability_analysis', 'boolean', 'Whether issues are judged before they are worked on', {
    nullable: false,
    default: true,
  }),
  field('user_consents_to_analytics', 'boolean', 'Whether the server may gather statistics of use'),
  field('sandbox_base_container_image', 'string', 'Image sandboxes are built from'),
  field('sandbox_runtime_container_image', 'string', 'Image sandboxes are started from'),
  field('mcp_config', 'object', 'MCP servers: sse_servers, shttp_servers, stdio_servers'),
  field('search_api_key', 'string', 'Key of the web search', { secret: true }),
  field('sandbox_api_key', 'string', 'Key of the sandbox provider', { secret: true }),
  field('max_budget_per_task', 'number', 'Most a run may cost, in US dollars', { minimum: 0 }),
  field('email', 'string', 'Address of the user'),
  field('email_verified', 'boolean', 'Whether that address is verified'),
  field('git_user_name', 'string', 'Author of commits'),
  field('git_user_email', 'string', 'Address of the author of commits'),
];

/** What V1 servers have besides, at the top level; written there as it is (interface 2.5). */
export const V1_FIELDS: readonly SettingsField[] = [
  field('sandbox_grouping_strategy', 'string', 'Which sandbox a new conversation gets', {
    nullable: false,
    default: 'NO_GROUPING',
    choices: ['NO_GROUPING', 'GROUP_BY_NEWEST', 'LEAST_RECENTLY_USED', 'FEWEST_CONVERSATIONS', 'ADD_TO_ANY'],
  }),
  field('default_sandbox_spec_id', 'string', 'Sandbox spec that is taken when none is named'),
  field('disabled_skills', 'array', 'Names of skills that are switched off'),
  field('title_llm_profile', 'string', 'Model profile that makes titles'),
  field('git_full_clone', 'boolean', 'Whether repositories are cloned with their history', {
    nullable: false,
    default: false,
  }),
];

export function findSettingsField(name: string): SettingsField | null {
  return SETTINGS_FIELDS.find((one) => one.name === name) ?? null;
}

/** What is wrong with a value, in words that follow "max_iterations: "; null when it may be sent. */
export function checkSettingsValue(settingsField: SettingsField, value: JsonValue): string | null {
  if (value === null) return settingsField.nullable ? null : 'may not be null';
  return checkType(settingsField, value) ?? checkBounds(settingsField, value) ?? checkWhole(settingsField, value);
}

function checkType(settingsField: SettingsField, value: JsonValue): string | null {
  switch (settingsField.type) {
    case 'string':
      return typeof value === 'string' ? null : 'must be a text';
    case 'integer':
      return Number.isSafeInteger(value) ? null : 'must be a whole number';
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? null : 'must be a number';
    case 'boolean':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'array':
      return Array.isArray(value) ? null : 'must be a list';
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? null : 'must be an object';
  }
}

function checkBounds(settingsField: SettingsField, value: JsonValue): string | null {
  const { choices, minimum, maximum } = settingsField;
  if (choices !== null && !choices.includes(String(value))) return `must be one of ${choices.join(', ')}`;
  if (typeof value !== 'number') return null;
  if (minimum !== null && value < minimum) return `must be at least ${minimum}`;
  if (maximum !== null && value > maximum) return `must be at most ${maximum}`;
  return null;
}

function checkWhole(settingsField: SettingsField, value: JsonValue): string | null {
  if (settingsField.name === 'mcp_config') return checkMcpConfig(value);
  if (settingsField.name === 'secrets_store') return checkSecretsStore(value);
  if (
    settingsField.name === 'llm_base_url' &&
    value !== '' &&
    typeof value === 'string' &&
    !/^https?:\/\/\S+$/.test(value)
  ) {
    return 'must be an http or https URL';
  }
  if (settingsField.name === 'disabled_skills' && !(value as JsonValue[]).every((item) => typeof item === 'string')) {
    return 'must be a list of texts';
  }
  return null;
}

/** A value as it is typed after `key=`. A text field takes it as it is; `null` and the other types are read as JSON. */
export function readSettingsText(settingsField: SettingsField, text: string): JsonValue {
  if (text === 'null' && settingsField.nullable) return null;
  if (settingsField.type === 'string') return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
