import { expect, it } from 'vitest';
import { call, fail, FINISH, useEndpoint } from '../agents/model/endpoint.ts';
import { appOfEachTest, startedTask, untilShown } from './support.ts';

const app = appOfEachTest();
const endpoint = useEndpoint();

const message = (text: string) => ({ role: 'user', content: [{ type: 'text', text }], run: true });
const set = (llm: object) => app.call('POST', '/api/v1/settings', { agent_settings_diff: { llm } });

/** A conversation that fails with HTTP 401, and is continued after the settings were changed: what its call had. */
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
  expect(await continued({ llm_model: 'own' }, { api_key: 'sk-right' })).toEqual(['own', 'Bearer sk-right']);
});

it('a conversation keeps its model and key when the settings name another model elsewhere', async () => {
  const other = { model: 'second', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-other' };
  expect(await continued({}, other)).toEqual(['first', 'Bearer sk-wrong']);
});
