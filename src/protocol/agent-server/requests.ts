/** Source: openapi of agent server 1.34.0 (the one of app server 1.11.0) and recorded refusals. */
import * as v from 'valibot';
import {
  dictionary,
  integer,
  integerFrom,
  kindOf,
  list,
  mapOf,
  maybe,
  number,
  oneOf,
  openRecord,
  page,
  record,
  storableText,
  text,
  textLike,
  time,
  truth,
  uuid,
} from '../detail.ts';
import { isRecord } from '../shape.ts';

export const ROLES = ['user', 'system', 'assistant', 'tool'] as const;

const contentPart = record({
  type: oneOf(['text', 'image']),
  text: v.optional(text),
  image_urls: v.optional(list(text)),
});

export const sendMessage = record({
  role: v.optional(oneOf(ROLES), 'user'),
  content: v.optional(list(contentPart), []),
  run: v.optional(truth, false),
});

export const socketMessage = record({
  role: oneOf(ROLES),
  content: v.optional(list(contentPart), []),
});

export const socketAuthentication = record({ type: oneOf(['auth']), session_api_key: text });

export const confirmationPolicy = v.pipe(
  kindOf('openhands.sdk.security.confirmation_policy.ConfirmationPolicyBase', [
    'AlwaysConfirm',
    'ConfirmRisky',
    'NeverConfirm',
  ]),
  record({
    kind: oneOf(['NeverConfirm', 'AlwaysConfirm', 'ConfirmRisky']),
    threshold: v.optional(oneOf(['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN']), 'HIGH'),
    confirm_unknown: v.optional(truth, true),
  }),
);
export const setConfirmationPolicy = record({ policy: confirmationPolicy });

const securityAnalyzer = v.pipe(
  kindOf('openhands.sdk.security.analyzer.SecurityAnalyzerBase', [
    'PatternSecurityAnalyzer',
    'PolicyRailSecurityAnalyzer',
    'EnsembleSecurityAnalyzer',
    'GraySwanAnalyzer',
    'LLMSecurityAnalyzer',
  ]),
  record({ kind: text }),
);
export const setSecurityAnalyzer = record({ security_analyzer: v.nullable(securityAnalyzer) });

const numberOrNull = maybe(number);

/** What the local service uses of an LLM of openhands-sdk; times in s, costs in USD. */
export const llm = openRecord({
  model: maybe(text),
  model_canonical_name: maybe(text),
  api_key: maybe(text),
  base_url: maybe(text),
  temperature: numberOrNull,
  top_p: numberOrNull,
  max_input_tokens: numberOrNull,
  max_output_tokens: numberOrNull,
  num_retries: numberOrNull,
  retry_multiplier: numberOrNull,
  retry_min_wait: numberOrNull,
  retry_max_wait: numberOrNull,
  max_message_chars: numberOrNull,
  timeout: numberOrNull,
  input_cost_per_token: numberOrNull,
  output_cost_per_token: numberOrNull,
  extra_headers: maybe(mapOf(text)),
  stream: maybe(truth),
  api_mode: maybe(text),
  api_version: maybe(text),
  top_k: numberOrNull,
  seed: numberOrNull,
  reasoning_effort: maybe(text),
  reasoning_summary: maybe(text),
  extended_thinking_budget: numberOrNull,
  enable_encrypted_reasoning: maybe(truth),
  caching_prompt: maybe(truth),
  native_tool_calling: maybe(truth),
  litellm_extra_body: maybe(dictionary),
});

export const switchLlm = record({ llm: openRecord({ ...llm.entries, model: text }) });

/** Of an agent (`kind`) or of its settings (`enabled`). `keep_first` counts the system prompt. */
const condenser = openRecord({
  kind: maybe(oneOf(['LLMSummarizingCondenser', 'NoOpCondenser'])),
  enabled: maybe(truth),
  llm: maybe(llm),
  max_size: numberOrNull,
  max_tokens: numberOrNull,
  keep_first: numberOrNull,
});

export const respondToConfirmation = record({
  accept: truth,
  reason: v.optional(text, 'User rejected the action.'),
});

/** `url`: the address of the value, in a LookupSecret. */
const secret = v.union([v.string(), record({ value: maybe(text), url: maybe(text) })]);
export const setSecrets = record({ secrets: mapOf(secret) });

export const updateConversation = record({
  title: maybe(v.pipe(text, v.minLength(1), v.maxLength(200))),
  tags: maybe(mapOf(text)),
});

/** `POST /local/…/user_command`, a route of the local service alone. */
export const userCommand = record({ command: text });

export const forkConversation = record({
  id: maybe(uuid),
  title: maybe(v.pipe(text, v.maxLength(200))),
  tags: maybe(mapOf(text)),
  reset_metrics: v.optional(truth, true),
  from_event_id: maybe(text),
});

export const settingsPatch = record({
  agent_settings_diff: maybe(dictionary),
  conversation_settings_diff: maybe(dictionary),
});

export const secretPut = record({
  name: textLike(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
  value: storableText,
  description: maybe(storableText),
});

export const askAgent = record({ question: text });

export const generateTitle = record({ max_length: v.optional(integerFrom(1), 50) });

const withModel = record({
  llm: maybe(llm),
  tools: maybe(list(record({ name: text }))),
  mcp_config: maybe(dictionary),
  condenser: maybe(condenser),
  tool_concurrency_limit: numberOrNull,
  enable_sub_agents: maybe(truth),
  verification: maybe(dictionary),
  agent_context: maybe(
    record({ system_message_suffix: maybe(text), secrets: maybe(mapOf(secret)) }),
  ),
});
const AGENT = 'openhands.sdk.agent.base.AgentBase';

/** An agent without `kind` is an `Agent` when it has members. */
const agent = v.pipe(
  v.unknown(),
  v.transform((given) =>
    isRecord(given) && Object.keys(given).length > 0 && given['kind'] === undefined
      ? { ...given, kind: 'Agent' }
      : given,
  ),
  kindOf(AGENT, ['ACPAgent', 'Agent']),
  withModel,
);

const startMembers = record({
  conversation_id: maybe(uuid),
  initial_message: maybe(sendMessage),
  workspace: record({ working_dir: text }),
  max_iterations: v.optional(integerFrom(1), 500),
  confirmation_policy: maybe(confirmationPolicy),
  security_analyzer: maybe(securityAnalyzer),
  secrets: maybe(mapOf(secret)),
  tags: maybe(mapOf(text)),
  title: maybe(text),
  agent: maybe(agent),
  agent_settings: maybe(withModel),
  agent_profile_id: maybe(text),
  max_budget_per_task: numberOrNull,
  replay: maybe(list(dictionary)),
  llm_of_settings: maybe(truth),
  /** Relative to the working directory; it runs before the first step. */
  setup_script: maybe(text),
  disabled_skills: maybe(list(v.unknown())),
});

/** The members from `max_budget_per_task` on are of the local service alone. */
export const startConversation = v.pipe(
  startMembers,
  v.check(
    ({ agent: given, agent_settings: settings, agent_profile_id: profile, replay }) =>
      [given, settings, profile, replay].some((each) => each != null),
    'One of `agent`, `agent_settings`, or `agent_profile_id` must be provided',
  ),
);

/** `POST /api/bash/execute_bash_command` and `start_bash_command`; `timeout` in seconds. */
export const bashCommand = record({
  command: text,
  cwd: maybe(text, null),
  timeout: v.optional(integerFrom(0), 300),
});

const ORDERS = ['TIMESTAMP', 'TIMESTAMP_DESC'] as const;

export const eventSearch = record({
  ...page(),
  kind: v.optional(text),
  source: v.optional(text),
  body: v.optional(text),
  sort_order: v.optional(oneOf(ORDERS), 'TIMESTAMP'),
  timestamp__gte: v.optional(time),
  timestamp__lt: v.optional(time),
});

// prettier-ignore
export const EXECUTION_STATUSES = [
  'idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck',
] as const;
const conversationStatus = v.optional(oneOf([...EXECUTION_STATUSES, 'deleting']));

export const conversationCount = record({ status: conversationStatus });

export const conversationIds = record({ ids: list(uuid) });

export const conversationSearch = record({
  ...page(),
  status: conversationStatus,
  sort_order: v.optional(
    oneOf(['CREATED_AT', 'UPDATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT_DESC']),
    'CREATED_AT_DESC',
  ),
});

export const bashEventSearch = record({
  kind__eq: v.optional(oneOf(['BashCommand', 'BashOutput'])),
  command_id__eq: v.optional(uuid),
  timestamp__gte: v.optional(time),
  timestamp__lt: v.optional(time),
  order__gt: v.optional(integer),
  sort_order: v.optional(oneOf(ORDERS), 'TIMESTAMP'),
  ...page(),
});

export const pathQuery = record({ path: text });
export const refQuery = record({ path: text, ref: v.optional(text) });
export const archiveQuery = record({
  ...refQuery.entries,
  format: v.optional(text, 'git-delta'),
});

export const socketQuery = record({
  session_api_key: v.optional(text),
  resend_mode: v.optional(oneOf(['all', 'since'])),
  resend_all: v.optional(truth),
  after_timestamp: v.optional(time),
  /** Of the local service alone: genuine servers send the parts of an answer to all. */
  deltas: v.optional(truth),
});

export type ConfirmationPolicyRequest = v.InferOutput<typeof confirmationPolicy>;
export type MessageContent = v.InferOutput<typeof contentPart>;
export type Llm = v.InferOutput<typeof llm>;
export type Condenser = v.InferOutput<typeof condenser>;
export type StartConversation = v.InferOutput<typeof startConversation>;
export type ForkConversation = v.InferOutput<typeof forkConversation>;
export type SecretInput = v.InferOutput<typeof secret>;
export type EventSearch = v.InferOutput<typeof eventSearch>;
export type BashCommandRequest = v.InferOutput<typeof bashCommand>;
export type BashEventSearch = v.InferOutput<typeof bashEventSearch>;
export type SocketQuery = v.InferOutput<typeof socketQuery>;

/**
 * `/sockets/exec`, a socket of the local service alone. The client sends `start`, then binary
 * frames of stdin; the service `started`, then binary frames of output (first byte 1: stdout, 2:
 * stderr), and last `exit` or `failed`. Each side sends at most `EXEC_WINDOW` bytes more than the
 * other has acknowledged with `taken`. A socket that closes earlier ends the program.
 */
export const EXEC_WINDOW = 1024 * 1024;

const size = record({ columns: integerFrom(1), rows: integerFrom(1) });

export const execStart = record({
  type: oneOf(['start']),
  argv: v.nullable(v.pipe(list(text), v.minLength(1))),
  cwd: v.nullable(text),
  env: mapOf(text),
  stdin: truth,
  terminal: v.nullable(size),
});

export const execControl = v.variant('type', [
  record({ type: v.literal('end') }),
  record({ type: v.literal('kill') }),
  record({ type: v.literal('taken'), bytes: integerFrom(0) }),
  record({ type: v.literal('signal'), signal: oneOf(['SIGHUP', 'SIGINT', 'SIGPIPE', 'SIGTERM']) }),
  record({ type: v.literal('resize'), size }),
]);

export type ExecStart = v.InferOutput<typeof execStart>;
