/** Each member of a model, a condenser and a critic is obeyed, or refused where it is set. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/protocol/settings.ts';
import { AGENT_FIELDS, unsupported } from '../../../../src/service/settings/fields.ts';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import type { OwnWorker } from '../../agent-server/support/worker.ts';
import { appOfEachTest } from '../support.ts';

const REQUESTS = 'test/service/agents/model/requests.test.ts';
const RUN = 'test/service/agents/model/run.test.ts';
const LIMITS = 'test/service/agents/model/limits.test.ts';

const PROVIDERS = 'test/service/agents/model/provider-faults.test.ts';

/** The test of each member that is obeyed. */
const OBEYED: Readonly<Record<string, string>> = {
  'llm.model': REQUESTS,
  'llm.api_key': 'test/service/app/model-of-settings.test.ts',
  'llm.base_url': REQUESTS,
  'llm.temperature': REQUESTS,
  'llm.top_p': REQUESTS,
  'llm.max_output_tokens': REQUESTS,
  'llm.api_mode': 'test/service/base/model-endpoint.test.ts',
  'llm.api_version': REQUESTS,
  'llm.caching_prompt': REQUESTS,
  'llm.litellm_extra_body': REQUESTS,
  'llm.native_tool_calling': REQUESTS,
  'llm.reasoning_effort': REQUESTS,
  'llm.seed': REQUESTS,
  'llm.top_k': REQUESTS,
  'llm.enable_encrypted_reasoning': PROVIDERS,
  'llm.extended_thinking_budget': PROVIDERS,
  'llm.reasoning_summary': 'test/service/agents/model/providers.test.ts',
  'llm.extra_headers': 'test/service/agents/model/faults.test.ts',
  'llm.max_input_tokens': RUN,
  'llm.input_cost_per_token': RUN,
  'llm.output_cost_per_token': RUN,
  'llm.stream': RUN,
  'llm.model_canonical_name': 'test/service/base/known-models.test.ts',
  'llm.num_retries': 'test/service/agents/model/faults.test.ts',
  'llm.timeout': 'test/service/agents/model/faults.test.ts',
  'llm.retry_multiplier': LIMITS,
  'llm.retry_min_wait': LIMITS,
  'llm.retry_max_wait': LIMITS,
  'llm.max_message_chars': LIMITS,
  'condenser.enabled': LIMITS,
  'condenser.max_size': LIMITS,
  'condenser.max_tokens': LIMITS,
  'condenser.keep_first': LIMITS,
};

/** Members that change nothing by definition, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  'llm.usage_id': 'a label of statistics',
  'llm.log_completions_folder': 'nothing is logged, because log_completions is refused',
  'llm.disable_stop_word': 'no stop word is sent',
  'llm.force_string_serializer': 'a text is always sent as one string',
};

/** Members of an LLM of agent server 1.49.1. */
const LLM_1_49_1 = [
  ...['model', 'api_key', 'provider_connection_id', 'auth_type', 'subscription_vendor'],
  ...['base_url', 'api_version', 'aws_access_key_id', 'aws_secret_access_key'],
  ...['aws_session_token', 'aws_region_name', 'aws_profile_name', 'aws_role_name'],
  ...['aws_session_name', 'aws_bedrock_runtime_endpoint', 'openrouter_site_url'],
  ...['openrouter_app_name', 'num_retries', 'retry_multiplier', 'retry_min_wait'],
  ...['retry_max_wait', 'timeout', 'max_message_chars', 'temperature', 'top_p', 'top_k'],
  ...['max_input_tokens', 'max_output_tokens', 'model_canonical_name', 'api_mode'],
  ...['capability_overrides', 'extra_headers', 'input_cost_per_token', 'output_cost_per_token'],
  ...['ollama_base_url', 'stream', 'drop_params', 'disable_vision', 'disable_stop_word'],
  ...['caching_prompt', 'log_completions', 'log_completions_folder', 'custom_tokenizer'],
  ...['native_tool_calling', 'force_string_serializer', 'inline_image_urls', 'reasoning_effort'],
  ...['reasoning_summary', 'enable_encrypted_reasoning', 'prompt_cache_retention'],
  ...['extended_thinking_budget', 'seed', 'usage_id', 'litellm_extra_body', 'fallback_strategy'],
];

const MEMBERS = AGENT_FIELDS.filter(
  ({ path }) =>
    /^(?:llm|condenser|verification)\./.test(path) ||
    ['tool_concurrency_limit', 'enable_sub_agents'].includes(path),
);
const REFUSED = MEMBERS.filter((each) => each.refused !== undefined);

const nested = (path: string, value: JsonValue): JsonObject =>
  path.split('.').reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value) as JsonObject;
const otherThan = (path: string): JsonValue => {
  const { type, default: usual, choices } = REFUSED.find((each) => each.path === path) ?? {};
  if (typeof usual === 'boolean') return !usual;
  if (choices !== undefined) return choices.at(-1) ?? null;
  const values = { string: 'other', integer: 7, number: 7.5, boolean: true, array: [], object: {} };
  return type === 'object' ? { other: 1 } : values[type ?? 'string'];
};

it('there are 55 members of an LLM, each in the table', () => {
  expect(new Set(LLM_1_49_1).size).toBe(55);
  const known = MEMBERS.map(({ path }) => path);
  expect(LLM_1_49_1.filter((name) => !known.includes(`llm.${name}`))).toEqual([]);
});

it('each member is obeyed, without effect or refused, and in one of these alone', () => {
  const paths = [...Object.keys(OBEYED), ...Object.keys(WITHOUT_EFFECT)];
  const all = [...paths, ...REFUSED.map(({ path }) => path)];
  expect(all.sort()).toEqual(MEMBERS.map(({ path }) => path).sort());
});

it.each(Object.entries(OBEYED))('%s is in its test, %s', (path, file) => {
  expect(readFileSync(file, 'utf8').includes(path.split('.').at(-1) ?? '')).toBe(true);
});

describe('a member that is refused', () => {
  const app = appOfEachTest();
  let worker: OwnWorker;
  useEmptiedWorker((started) => (worker = started));

  it.each(REFUSED.map(({ path, refused }) => [path, refused]))(
    '%s is refused in settings, profiles and starts: %s',
    async (path, reason) => {
      const value = nested(path, otherThan(path));
      const detail = `${path} can only have its default: ${reason}`;
      const settings = await app.call('POST', '/api/v1/settings', { agent_settings_diff: value });
      expect([settings.status, settings.body]).toEqual([501, { detail }]);
      const start = { agent: value, workspace: { working_dir: '.' } };
      const started = await worker.call('POST', '/api/conversations', start);
      expect([started.status, started.body]).toEqual([501, { detail }]);
    },
  );
});

it('defaults, null and what turns a member off are never refused', async () => {
  const defaults = REFUSED.map(({ path, default: usual }) => nested(path, usual));
  const nulls = REFUSED.map(({ path }) => nested(path, null));
  const off = [{ llm: { disable_vision: false, custom_tokenizer: '', capability_overrides: {} } }];
  expect([...defaults, ...nulls, ...off].map((each) => unsupported(each))).toEqual(
    [...defaults, ...nulls, ...off].map(() => null),
  );
});
