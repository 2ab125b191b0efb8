import { describe, expect, it } from 'vitest';
import { appOfEachTest } from '../../support.ts';

const app = appOfEachTest();
const { get, post } = app;
const V1 = '/api/v1/settings';

describe('profiles', () => {
  it('are active until the model settings differ from theirs', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a' } } });
    await post(`${V1}/profiles/first`, undefined);
    await post(`${V1}/profiles/first/activate`, undefined);
    await post(V1, { language: 'de', agent_settings_diff: { llm: { model: 'openai/a' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'first' });
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/b' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
  });

  it('are inactive when the key differs from theirs', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk-first' } } });
    await post(`${V1}/profiles/first`, undefined);
    await post(`${V1}/profiles/first/activate`, undefined);
    await post(V1, { agent_settings_diff: { llm: { api_key: 'sk-first' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'first' });
    await post(V1, { agent_settings_diff: { llm: { api_key: 'sk-second' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
  });

  it('are saved, listed, activated, renamed and deleted', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk' } } });
    expect(await post(`${V1}/profiles/first`, undefined)).toMatchObject({ status: 201, body: { name: 'first' } });
    await post(`${V1}/profiles/second`, { llm: { model: 'openai/b' } });
    expect((await get(`${V1}/profiles`)).profiles).toEqual([
      { name: 'first', model: 'openai/a', base_url: null, api_key_set: true },
      { name: 'second', model: 'openai/b', base_url: null, api_key_set: false },
    ]);
    await post(`${V1}/profiles/second/activate`, undefined);
    expect(await get(V1)).toMatchObject({ agent_settings: { llm: { model: 'openai/b' } }, llm_api_key_set: false });
    expect((await post(`${V1}/profiles/second/rename`, { new_name: 'first' })).status).toBe(409);
    await post(`${V1}/profiles/second/rename`, { new_name: 'third' });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'third' });
    expect((await app.call('DELETE', `${V1}/profiles/third`)).status).toBe(200);
    expect((await app.call('GET', `${V1}/profiles/third`)).status).toBe(404);
    expect((await post(`${V1}/profiles/a%20b`, undefined)).status).toBe(422);
  });

  it('that were never saved are unknown, also with the name of a member of every object', async () => {
    for (const name of ['nope', 'constructor', '__proto__']) {
      const answers = [
        await app.call('GET', `${V1}/profiles/${name}`),
        await post(`${V1}/profiles/${name}/activate`, undefined),
        await post(`${V1}/profiles/${name}/rename`, { new_name: 'other' }),
      ];
      expect([name, ...answers.map(({ status }) => status)]).toEqual([name, 404, 404, 404]);
    }
    expect((await post(`${V1}/profiles/constructor`, { llm: { model: 'a' } })).status).toBe(201);
    expect(await get(`${V1}/profiles/constructor`)).toMatchObject({ config: { model: 'a' } });
  });
});
