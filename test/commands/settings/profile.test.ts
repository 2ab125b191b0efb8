import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestClock } from '../../support/test-clock.ts';
import { useWorld } from '../../support/use-world.ts';

const KEY = 'model-key-0815-4711';
const clock = () => new TestClock({ movedBy: 'sleeps', startMs: Date.now() });

describe.each(['v1', 'both'] as const)('settings profile over %s', (api) => {
  const at = useWorld({ api, spec: 'process', noun: 'settings profile', clock });
  const set = (...words: string[]) => at.world.acs('settings', 'set', ...words);
  const model = async () => (await at.world.acs('settings', 'get', 'llm_model')).out;

  beforeEach(() => at.file('key.txt', `${KEY}\n`));
  afterEach(async () => {
    const { items } = await at.json<{ items: { name: string }[] }>('list');
    for (const { name } of items) await at.ends(`delete ${name} -y`, {});
  });

  it('save exits 3 before a model is set', async () => {
    await at.ends('save early', { code: 3, err: 'llm_model' });
  });

  it('save stores the current model settings, and use restores them', async () => {
    await set('llm_model=openai/usual', 'llm_api_key=@key.txt');
    expect(await at.json('save usual')).toEqual({
      name: 'usual',
      model: 'openai/usual',
      base_url: null,
      api_key_set: true,
      active: false,
      changed: true,
    });
    for (const changed of [true, false, true]) {
      if (changed) await set('llm_model=openai/other');
      await at.ends('use usual --json', { out: { name: 'usual', active: true, changed } });
      expect(await model()).toBe('openai/usual\n');
    }
  });

  it('save stores given settings without changing the current ones, and prints no key', async () => {
    await set('llm_model=openai/usual');
    const words = 'llm_model=openai/fast llm_base_url=http://127.0.0.1:9/v1 llm_api_key=@key.txt';
    const out = { model: 'openai/fast', base_url: 'http://127.0.0.1:9/v1', api_key_set: true };
    await at.ends(`save fast ${words} --json --debug`, { out, hides: KEY });
    expect(await model()).toBe('openai/usual\n');
    // Without a key the stored one is kept.
    await at.ends('save fast llm_model=openai/faster --json', {
      out: { model: 'openai/faster', api_key_set: true },
    });
  });

  it('delete needs -y, and exits 5 the second time', async () => {
    await at.ends('save gone llm_model=openai/gone', {});
    await at.ends('delete gone', { code: 2 });
    await at.ends('delete gone -y --json', { out: { name: 'gone', changed: true } });
    await at.ends('rm gone -y', { code: 5 });
    await at.ends('use gone', { code: 5 });
    await at.ends('delete gone -y --ignore-not-found --json', { out: { changed: false } });
  });

  it('--dry-run prints the request and stores nothing', async () => {
    await at.ends('save x llm_model=openai/x llm_api_key=@key.txt --dry-run --json', {
      out: {
        requests: [
          {
            method: 'POST',
            body: { llm: { model: 'openai/x' }, preserve_existing_api_key: false },
          },
        ],
      },
      writes: [],
      hides: KEY,
    });
    await at.ends('save there llm_model=openai/x', {});
    await at.ends('use there --dry-run --json', { out: { requests: [{ method: 'POST' }] } });
    await at.ends('use nowhere --dry-run', { code: 5 });
  });

  it('save exits 6 for an eleventh profile, as servers do', async () => {
    for (let number = 1; number <= 10; number++)
      await at.ends(`save p${number} llm_model=openai/x`, {});
    await at.ends('save p11 llm_model=openai/x', { code: 6 });
  });

  it.each([
    ['a name that servers refuse', ['save', 'a b']],
    ['values without a model', 'save x llm_base_url=http://127.0.0.1:9'],
    ['a setting that is not of the model', 'save x llm_model=y language=de'],
    ['a key in the open', `save x llm_model=y llm_api_key=${KEY}`],
  ])('refuses %s, before any request', async (_, line) => {
    await at.ends(line, { code: 2, hides: KEY, requests: 0 });
  });
});

describe('settings profile on a V0 server', () => {
  const at = useWorld({ api: 'v0', spec: 'process', noun: 'settings profile' });
  it.each(['list', 'save x', 'use x', 'delete x -y'])(
    '%s exits 12 and names the dialect that has it',
    async (line) => {
      await at.ends(line, { code: 12, err: 'V1' });
    },
  );
});
