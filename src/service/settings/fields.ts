/** Every member of the nested settings of V1 (interface section 2.5). */
import { isDeepStrictEqual } from 'node:util';
import {
  IS_OF_TYPE,
  isJsonObject,
  setAt,
  valueAt,
  type JsonObject,
  type JsonValue,
  type SettingType,
} from '../../protocol/settings.ts';

export function overlay(base: JsonObject, over: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = isJsonObject(below) && isJsonObject(value) ? overlay(below, value) : value;
  }
  return result;
}

/** Shown in place of a secret value; when a client sends it back, the stored value is kept. */
export const MASK = '**********';

export interface SettingField {
  path: string;
  label: string;
  description: string;
  section: string;
  type: SettingType;
  default: JsonValue;
  prominence: 'critical' | 'major' | 'minor';
  choices?: string[];
  min?: number;
  isSecret?: true;
  dependsOn?: string[];
  /** Why another value than the default is refused; without it the member is obeyed. */
  refused?: string;
}

function field(
  path: string,
  type: SettingField['type'],
  value: JsonValue,
  description: string,
  extra: Partial<SettingField> = {},
): SettingField {
  const [first = '', last = first] = path.split('.');
  const label = last.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const section = last === first ? 'general' : first;
  return { path, label, description, type, default: value, prominence: 'minor', section, ...extra };
}

const refused = (reason: string): Partial<SettingField> => ({ refused: reason });
const OF_BEDROCK = refused('Bedrock is called through a LiteLLM proxy (litellm_proxy/<name>)');
const BY_KEY = refused('a model is called with a key');
const ADAPTED = refused('each request is adapted to its endpoint');
const NOT_SENT = refused('it is not sent to the model');
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const NO_CRITIC = refused('the local service has no critic');
const BY_HALVES = refused('half of a history is summarized at a time');

const LLM: SettingField[] = [
  field('llm.model', 'string', '', 'Model name.', { prominence: 'critical' }),
  field('llm.api_key', 'string', null, 'API key.', { prominence: 'critical', isSecret: true }),
  field('llm.base_url', 'string', null, 'Address of the endpoint.', { prominence: 'critical' }),
  field(
    'llm.auth_type',
    'string',
    'api_key',
    'How the model is paid: by key or by subscription.',
    BY_KEY,
  ),
  field('llm.provider_connection_id', 'string', null, 'Stored connection to a provider.', BY_KEY),
  field('llm.subscription_vendor', 'string', null, 'Who sold the subscription.', BY_KEY),
  field('llm.is_subscription', 'boolean', false, 'The model is paid by a subscription.', BY_KEY),
  field('llm.api_version', 'string', null, 'API version, where the endpoint has several.'),
  field('llm.api_mode', 'string', 'auto', 'Interface of the endpoint.', {
    choices: ['auto', 'chat', 'responses'],
  }),
  field('llm.aws_access_key_id', 'string', null, 'AWS access key id.', {
    isSecret: true,
    ...OF_BEDROCK,
  }),
  field('llm.aws_secret_access_key', 'string', null, 'AWS secret access key.', {
    isSecret: true,
    ...OF_BEDROCK,
  }),
  field('llm.aws_session_token', 'string', null, 'AWS session token.', {
    isSecret: true,
    ...OF_BEDROCK,
  }),
  field('llm.aws_region_name', 'string', null, 'AWS region.', OF_BEDROCK),
  field('llm.aws_profile_name', 'string', null, 'AWS profile.', OF_BEDROCK),
  field('llm.aws_role_name', 'string', null, 'AWS role to take on.', OF_BEDROCK),
  field('llm.aws_session_name', 'string', null, 'Name of the session in that role.', OF_BEDROCK),
  field('llm.aws_bedrock_runtime_endpoint', 'string', null, 'Address of Bedrock.', OF_BEDROCK),
  field(
    'llm.openrouter_site_url',
    'string',
    'https://docs.all-hands.dev/',
    'Site named to OpenRouter.',
    refused('set HTTP-Referer in extra_headers'),
  ),
  field(
    'llm.openrouter_app_name',
    'string',
    'OpenHands',
    'Application named to OpenRouter.',
    refused('set X-Title in extra_headers'),
  ),
  field('llm.ollama_base_url', 'string', null, 'Address of Ollama.', refused('set base_url')),
  field(
    'llm.model_canonical_name',
    'string',
    null,
    'Name under which the context and the price of the model are known.',
  ),
  field(
    'llm.capability_overrides',
    'object',
    null,
    'Abilities of the model that are declared.',
    NOT_SENT,
  ),
  field(
    'llm.fallback_strategy',
    'object',
    null,
    'Models to call when this one fails.',
    refused('only one model is called'),
  ),
  field('llm.num_retries', 'integer', 4, 'How often a refused call is repeated.', { min: 0 }),
  field('llm.retry_multiplier', 'number', 1, 'Factor between two waits.', { min: 0 }),
  field('llm.retry_min_wait', 'integer', 1, 'Shortest wait between two tries, in seconds.', {
    min: 0,
  }),
  field('llm.retry_max_wait', 'integer', 64, 'Longest wait between two tries, in seconds.', {
    min: 0,
  }),
  field('llm.timeout', 'integer', 300, 'Time limit of one call, in seconds.', { min: 0 }),
  field('llm.max_message_chars', 'integer', 30_000, 'Longest observation shown to the model.', {
    min: 1,
  }),
  field('llm.temperature', 'number', null, 'Sampling temperature.', { min: 0 }),
  field('llm.top_p', 'number', null, 'Nucleus sampling.', { min: 0 }),
  field('llm.top_k', 'number', null, 'Top-k sampling.', { min: 0 }),
  field('llm.max_input_tokens', 'integer', null, 'Longest input.', { min: 1 }),
  field('llm.max_output_tokens', 'integer', null, 'Longest output.', { min: 1 }),
  field('llm.input_cost_per_token', 'number', null, 'US dollars for a token read.', { min: 0 }),
  field('llm.output_cost_per_token', 'number', null, 'US dollars for a token written.', { min: 0 }),
  field(
    'llm.custom_tokenizer',
    'string',
    null,
    'Tokenizer to count with.',
    refused('characters are counted'),
  ),
  field('llm.native_tool_calling', 'boolean', true, 'Use the tool calls of the endpoint.'),
  field(
    'llm.disable_vision',
    'boolean',
    null,
    'Never send images.',
    refused('images of the user and of tools are sent'),
  ),
  field('llm.caching_prompt', 'boolean', true, 'Mark the prompt for caching.'),
  field(
    'llm.drop_params',
    'boolean',
    true,
    'Leave out parameters that the endpoint does not know.',
    ADAPTED,
  ),
  field('llm.modify_params', 'boolean', true, 'Adapt parameters to the endpoint.', ADAPTED),
  field('llm.stream', 'boolean', false, 'Ask for the answer piece by piece.'),
  field('llm.reasoning_effort', 'string', 'high', 'How much the model is to think.', {
    choices: EFFORTS,
  }),
  field('llm.extended_thinking_budget', 'integer', 200_000, 'Tokens for thinking.', {
    min: 0,
  }),
  field('llm.reasoning_summary', 'string', null, 'How the thinking is summed up.', {
    choices: ['auto', 'concise', 'detailed'],
  }),
  field(
    'llm.enable_encrypted_reasoning',
    'boolean',
    true,
    'Take encrypted thinking back into the next call.',
  ),
  field(
    'llm.prompt_cache_retention',
    'string',
    '24h',
    'How long the endpoint keeps a cached prompt.',
    NOT_SENT,
  ),
  field('llm.disable_stop_word', 'boolean', false, 'Send no stop words; none is sent.'),
  field(
    'llm.force_string_serializer',
    'boolean',
    null,
    'Send the content of messages as one text; it is sent so.',
  ),
  field(
    'llm.inline_image_urls',
    'boolean',
    null,
    'Send images instead of their addresses.',
    refused('the endpoint loads images'),
  ),
  field(
    'llm.log_completions',
    'boolean',
    false,
    'Keep every call in a file.',
    refused('the events have every call'),
  ),
  field('llm.log_completions_folder', 'string', 'logs/completions', 'Where they are kept.'),
  field('llm.seed', 'integer', null, 'Seed of the sampling.'),
  field('llm.extra_headers', 'object', null, 'Further headers of each call.', { isSecret: true }),
  field('llm.litellm_extra_body', 'object', {}, 'Further members of each call.'),
  field('llm.usage_id', 'string', 'default', 'Name under which the cost is counted.'),
];

/** Members of `agent_settings` of kind `openhands`; `mcp_config` is kept apart (mcp.ts). */
export const AGENT_FIELDS: SettingField[] = [
  field('agent', 'string', 'CodeActAgent', 'Agent class to use.', { prominence: 'major' }),
  field('tools', 'array', null, 'Tools of the agent; none named: the usual ones.', {
    prominence: 'major',
  }),
  field(
    'enable_sub_agents',
    'boolean',
    false,
    'Let the agent start others.',
    refused('the agent has no tool that starts others'),
  ),
  field('enable_switch_llm_tool', 'boolean', true, 'Let the agent change its model.'),
  field('tool_concurrency_limit', 'integer', 1, 'Tools at work at the same time.', {
    ...refused('tools run one after the other'),
    min: 1,
  }),
  ...LLM,
  field('condenser.enabled', 'boolean', true, 'Shorten a long history.', {
    prominence: 'critical',
  }),
  field(
    'condenser.max_size',
    'integer',
    240,
    'Events that are kept before the history is shortened.',
    {
      min: 20,
      dependsOn: ['condenser.enabled'],
      prominence: 'major',
    },
  ),
  field(
    'condenser.condenser_kind',
    'string',
    'llm_summarizing',
    'How the history is shortened.',
    refused('a model summarizes'),
  ),
  field(
    'condenser.max_tokens',
    'integer',
    null,
    'Tokens that are kept before the history is shortened.',
  ),
  field(
    'condenser.minimum_progress',
    'number',
    0.1,
    'Share that one shortening must save.',
    BY_HALVES,
  ),
  field(
    'condenser.hard_context_reset_max_retries',
    'integer',
    5,
    'Tries to shorten a history that is too long.',
    BY_HALVES,
  ),
  field(
    'condenser.hard_context_reset_context_scaling',
    'number',
    0.8,
    'Factor from one of those tries to the next.',
    BY_HALVES,
  ),
  field('condenser.keep_first', 'integer', 2, 'Events at the beginning that are always kept.', {
    min: 0,
  }),
  field(
    'verification.critic_enabled',
    'boolean',
    false,
    'Let a critic judge the result.',
    NO_CRITIC,
  ),
  field('verification.critic_mode', 'string', 'finish_and_message', 'When the critic judges.', {
    choices: ['finish_and_message', 'all_actions'],
    dependsOn: ['verification.critic_enabled'],
    ...NO_CRITIC,
  }),
  field(
    'verification.enable_iterative_refinement',
    'boolean',
    false,
    'Go on until the critic agrees.',
    NO_CRITIC,
  ),
  field('verification.critic_threshold', 'number', 0.6, 'From where on the critic agrees.', {
    min: 0,
    ...NO_CRITIC,
  }),
  field('verification.max_refinement_iterations', 'integer', 3, 'Rounds of refinement.', {
    min: 1,
    ...NO_CRITIC,
  }),
  field('verification.critic_server_url', 'string', null, 'Address of the critic.', NO_CRITIC),
  field('verification.critic_model_name', 'string', null, 'Model of the critic.', NO_CRITIC),
  field('verification.critic_api_key', 'string', null, 'Key of the critic.', {
    isSecret: true,
    ...NO_CRITIC,
  }),
];

export const CONVERSATION_FIELDS: SettingField[] = [
  field('max_iterations', 'integer', 500, 'Steps after which a run is stopped.', {
    min: 1,
    prominence: 'major',
  }),
  field('confirmation_mode', 'boolean', false, 'Ask before a risky action.', {
    section: 'verification',
    prominence: 'critical',
  }),
  field('security_analyzer', 'string', 'llm', 'Who judges how risky an action is.', {
    section: 'verification',
    choices: ['llm', 'none'],
    dependsOn: ['confirmation_mode'],
    prominence: 'major',
  }),
];

const PYTHON_TYPES: Record<SettingType, string> = {
  string: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  array: 'list',
  object: 'dictionary',
};

/** Why a field cannot have the value, in the words of genuine servers; null: it can. */
export function typeError({ type, min, choices }: SettingField, value: JsonValue): string | null {
  if (value === null) return null;
  if (!IS_OF_TYPE[type](value)) return `Input should be a valid ${PYTHON_TYPES[type]}`;
  if (min !== undefined && Number(value) < min)
    return `Input should be greater than or equal to ${min}`;
  if (choices === undefined || choices.includes(String(value))) return null;
  return `Input should be ${choices.map((choice) => `'${choice}'`).join(' or ')}`;
}

/** Names a member that is refused, with the reason; null: there is none. */
export function unsupported(settings: object): string | null {
  for (const { path, refused: reason, default: usual } of AGENT_FIELDS) {
    const value = reason === undefined ? null : (valueAt(settings as JsonObject, path) ?? null);
    const allowed = usual === null ? [null, false, '', {}] : [null, usual];
    if (allowed.some((each) => isDeepStrictEqual(value, each))) continue;
    return `${path} can only have its default: ${reason}`;
  }
  return null;
}

export function defaultsOf(fields: SettingField[]): JsonObject {
  const result: JsonObject = {};
  for (const { path, default: value } of fields) setAt(result, path, value);
  return result;
}

/** What takes the place of each secret; `undefined`: secrets are shown. */
export type Mask = string | null | undefined;

export function withoutSecrets(fields: SettingField[], object: JsonObject, mask: Mask): JsonObject {
  const copy = structuredClone(object);
  if (mask === undefined) return copy;
  for (const { path, isSecret } of fields) {
    if (isSecret && valueAt(copy, path) != null) setAt(copy, path, mask);
  }
  return copy;
}

export function schemaOf(
  model_name: string,
  fields: SettingField[],
  variant: string | null,
): JsonObject {
  const sections = [...new Set(fields.map(({ section }) => section))].map((key) => {
    const label = key === 'llm' ? 'LLM' : key.replace(/^./, (letter) => letter.toUpperCase());
    const own = fields.filter(({ section }) => section === key);
    return {
      key,
      label,
      fields: own.map((each) => ({
        key: each.path,
        label: each.label,
        description: each.refused
          ? `${each.description} Only the default: ${each.refused}.`
          : each.description,
        section: key,
        section_label: label,
        value_type: each.type,
        default: each.default,
        prominence: each.prominence,
        depends_on: each.dependsOn ?? [],
        secret: each.isSecret ?? false,
        required: false,
        choices: (each.choices ?? []).map((value) => ({ value, label: value })),
        variant,
      })),
      variant: key === 'general' ? null : variant,
    };
  });
  return { model_name, sections };
}
