import { describe, expect, it } from 'vitest';
import { json, useProfiles } from './support.ts';

describe.each(['v1', 'both'] as const)('settings profile over %s', (api) => {
  const at = useProfiles(api);
  const { profile, all, model } = at;

  it('save stores the current model settings, and use restores them', async () => {
    await at.world.acs('settings', 'set', 'llm_model=openai/usual', 'llm_api_key=@key.txt');
    const saved = await profile('save', 'usual', '--json');
    expect(saved.code, saved.err).toBe(0);
    expect(json(saved)).toEqual({
      name: 'usual',
      model: 'openai/usual',
      base_url: null,
      api_key_set: true,
      active: false,
      changed: true,
    });
    await at.world.acs('settings', 'set', 'llm_model=openai/other');
    expect(json(await profile('use', 'usual', '--json'))).toMatchObject({ name: 'usual', active: true, changed: true });
    expect(await model()).toBe('openai/usual');
    expect(json(await profile('use', 'usual', '--json'))).toMatchObject({ active: true, changed: false });
    await at.world.acs('settings', 'set', 'llm_model=openai/other');
    expect(json(await profile('use', 'usual', '--json'))).toMatchObject({ active: true, changed: true });
    expect(await model()).toBe('openai/usual');
  });

  it('rename exits 6 for a taken name', async () => {
    for (const name of ['one', 'two']) await profile('save', name, `llm_model=openai/${name}`);
    expect((await profile('rename', 'one', 'two')).code).toBe(6);
    expect(json(await profile('rename', 'one', 'three', '--json'))).toMatchObject({ name: 'three', changed: true });
    expect((await all()).map(({ name }) => name).sort()).toEqual(['three', 'two']);
  });

  it('deletes with --yes, and exits 5 the second time', async () => {
    await profile('save', 'gone', 'llm_model=openai/gone');
    expect((await profile('delete', 'gone')).code).toBe(2);
    expect(json(await profile('delete', 'gone', '-y', '--json'))).toMatchObject({ name: 'gone', changed: true });
    expect((await profile('rm', 'gone', '-y')).code).toBe(5);
    expect(json(await profile('delete', 'gone', '-y', '--ignore-not-found', '--json'))).toMatchObject({
      changed: false,
    });
  });

  it.each([['use'], ['rename', 'other']])('looks a name up in a dry run, too: %s', async (verb, ...more) => {
    await profile('save', 'there', 'llm_model=openai/x');
    const known = await profile(verb, 'there', ...more, '--dry-run', '--json');
    expect(json<{ requests: unknown[] }>(known).requests).toMatchObject([{ method: 'POST' }]);
    expect((await profile(verb, 'nowhere', ...more, '--dry-run')).code).toBe(5);
  });
});
