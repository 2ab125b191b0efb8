import { expect, it } from 'vitest';
import type { Llm } from '../../../src/protocol/agent-server/requests.ts';
import { renewed, withModel } from '../../../src/service/base/model-config.ts';
import { call, fail, FINISH, useEndpoint } from '../agents/model/endpoint.ts';
import { appOfEachTest, startedTask, untilShown } from './support.ts';

const app = appOfEachTest();
const endpoint = useEndpoint();

const message = (text: string) => ({ role: 'user', content: [{ type: 'text', text }], run: true });
const set = (llm: object) => app.call('POST', '/api/v1/settings', { agent_settings_diff: { llm } });

/**
 * A conversation that fails with HTTP 401, and is continued after the settings were changed: what
 * its call had.
 */
async function continued(start: object, change: object): Promise<[model?: string, key?: string]> {
  endpoint.reply(fail(401, 'Incorrect API key'), call(FINISH));
  await set({ model: 'first', base_url: endpoint.url, api_key: 'sk-wrong', num_retries: 0 });
  const task = await startedTask(app, { initial_message: message('Hello.'), ...start });
  const id = task.app_conversation_id ?? '';
  await untilShown(app, id, { execution_status: 'error' });
  await set(change);
  await app.call('POST', `/api/v1/app-conversations/${id}/send-message`, message('Go on.'));
  await untilShown(app, id, { execution_status: 'finished' });
  const { model, headers } = endpoint.asked.at(-1) ?? {};
  return [model, headers?.authorization];
}

it('a conversation with the model of the settings continues with the key that they have now', async () => {
  expect(await continued({}, { api_key: 'sk-right' })).toEqual(['first', 'Bearer sk-right']);
});

it('a conversation with another model of the endpoint keeps its model, and gets the new key', async () => {
  expect(await continued({ llm_model: 'own' }, { api_key: 'sk-right' })).toEqual([
    'own',
    'Bearer sk-right',
  ]);
});

it('a conversation keeps its model and key when the settings name another model elsewhere', async () => {
  const other = { model: 'second', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-other' };
  expect(await continued({}, other)).toEqual(['first', 'Bearer sk-wrong']);
});

it('a conversation whose budget ended it continues when the settings have the price', async () => {
  endpoint.reply(call(FINISH));
  await app.call('POST', '/api/settings', { max_budget_per_task: 5 });
  await set({ model: 'first', base_url: endpoint.url });
  const task = await startedTask(app, { initial_message: message('Hello.') });
  const id = task.app_conversation_id ?? '';
  await untilShown(app, id, { execution_status: 'error' });
  await set({ input_cost_per_token: 0.001, output_cost_per_token: 0.001 });
  await app.call('POST', `/api/v1/app-conversations/${id}/send-message`, message('Go on.'));
  await untilShown(app, id, { execution_status: 'finished' });
});

const OWN = { model: 'qwen', base_url: 'http://127.0.0.1:11434/v1', api_key: 'sk-own' };
const OPENAI_URL = { model: 'anthropic/claude', base_url: 'https://api.openai.com/v1' };

it.each<[what: string, own: Llm, settings: Llm, wanted: Llm]>([
  [
    'all of the same model',
    { model: 'a', base_url: 'http://a/v1' },
    { ...OWN, model: 'a' },
    { ...OWN, model: 'a' },
  ],
  [
    'all but the URL of another model of the endpoint',
    OWN,
    { model: 'ollama/llama', temperature: 1 },
    { model: 'qwen', base_url: OWN.base_url, temperature: 1 },
  ],
  ['nothing of an endpoint elsewhere', OWN, { model: 'openai/gpt-4o', api_key: 'sk-openai' }, OWN],
  [
    'nothing where no URL is known',
    { model: 'x' },
    { model: 'y', api_key: 'sk-y' },
    { model: 'x' },
  ],
  [
    'the key of its URL, and keeps the URL',
    OPENAI_URL,
    { model: 'openai/gpt-4o', api_key: 'sk-openai' },
    { ...OPENAI_URL, api_key: 'sk-openai' },
  ],
])('a conversation takes from changed settings %s', (_what, own, settings, wanted) => {
  expect(renewed(own, settings)).toEqual(wanted);
});

it('another model gets the key of the settings at their origin alone', () => {
  const settings = { model: 'openai/gpt-4o', api_key: 'sk-openai', extra_headers: { a: 'b' } };
  expect(withModel(settings, 'openai/gpt-5')).toEqual({ ...settings, model: 'openai/gpt-5' });
  expect(withModel(settings, 'anthropic/claude')).toMatchObject({
    api_key: null,
    extra_headers: null,
  });
  expect(withModel(OWN, 'other')).toEqual({ ...OWN, model: 'other' });
});
