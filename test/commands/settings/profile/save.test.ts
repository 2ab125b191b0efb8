import { describe, expect, it } from 'vitest';
import { recordingProxy } from '../../../support/recording-proxy.ts';
import { json, KEY, useProfiles } from './support.ts';

describe.each(['v1', 'both'] as const)('settings profile over %s', (api) => {
  const at = useProfiles(api);
  const { profile, all, model } = at;

  it('exits 3 before a model is set', async () => {
    const { code, err } = await profile('save', 'early');
    expect(code).toBe(3);
    expect(err).toContain('llm_model');
    expect(await all()).toEqual([]);
  });

  it('save stores given settings without changing the current ones, and prints no key', async () => {
    await at.world.acs('settings', 'set', 'llm_model=openai/usual');
    const words = ['llm_model=openai/fast', 'llm_base_url=http://127.0.0.1:9/v1', 'llm_api_key=@key.txt'];
    const saved = await profile('save', 'fast', ...words, '--json', '--debug');
    expect(json(saved)).toMatchObject({ model: 'openai/fast', base_url: 'http://127.0.0.1:9/v1', api_key_set: true });
    expect(await model()).toBe('openai/usual');
    const shown = await profile('show', 'fast', '--json');
    expect(json<{ config: Record<string, unknown> }>(shown).config).toMatchObject({ model: 'openai/fast' });
    for (const { out, err } of [saved, shown]) expect(out + err).not.toContain(KEY);
  });

  it('save keeps the stored key when it gets none', async () => {
    await profile('save', 'fast', 'llm_model=openai/fast', 'llm_api_key=@key.txt');
    const again = await profile('save', 'fast', 'llm_model=openai/faster', '--json');
    expect(json(again)).toMatchObject({ model: 'openai/faster', api_key_set: true });
  });

  it.each([
    ['a name that servers refuse', ['save', 'a b']],
    ['values without a model', ['save', 'x', 'llm_base_url=http://127.0.0.1:9']],
    ['a setting that is not of the model', ['save', 'x', 'llm_model=y', 'language=de']],
    ['a key in the open', ['save', 'x', 'llm_model=y', `llm_api_key=${KEY}`]],
  ])('refuses %s, before any request', async (_what, args) => {
    const proxy = await recordingProxy(at.world.service.url);
    const { code, out, err } = await at.world.invoke({
      args: ['settings', 'profile', ...args],
      env: { ACS_BASE_URL: proxy.url },
    });
    await proxy.close();
    expect(code).toBe(2);
    expect(out + err).not.toContain(KEY);
    expect(proxy.requests).toEqual([]);
  });

  it('--dry-run sends nothing and prints no key', async () => {
    const dry = await profile('save', 'x', 'llm_model=openai/x', 'llm_api_key=@key.txt', '--dry-run', '--json');
    expect(dry.code).toBe(0);
    expect(json<{ requests: unknown[] }>(dry).requests).toMatchObject([
      { method: 'POST', body: { llm: { model: 'openai/x' }, preserve_existing_api_key: false } },
    ]);
    expect(dry.out + dry.err).not.toContain(KEY);
    expect(await all()).toEqual([]);
  });

  it('exits 6 for an eleventh profile, as servers do', async () => {
    for (let number = 1; number <= 10; number++) await profile('save', `p${number}`, 'llm_model=openai/x');
    expect((await profile('save', 'p11', 'llm_model=openai/x')).code).toBe(6);
  });
});
