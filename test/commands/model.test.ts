import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backendHandler } from '../client/support/backend-server.ts';
import { useV0, useV1 } from '../support/use-scripted.ts';
import { NOT_FOUND, startFake, type FakeServer, type Reply } from '../support/server.ts';
import { useWorld } from '../support/use-world.ts';

const V1 = 'GET /api/v1/config/models/search';
const verified = { provider: 'openai', name: 'one', verified: true, hidden: false };
const others = [
  verified,
  { provider: null, name: 'two', verified: false },
  { provider: 'openai', name: 'old', hidden: true },
  { provider: 'x', name: 'y/\u001b[31mz' },
];

describe('model list over V1', () => {
  const at = useV1();
  it('prints the verified models first, each once, and no hidden one', async () => {
    at.script({
      [V1]: ({ query }) => {
        const isVerified = query.get('verified__eq') === 'true';
        const items = query.get('page_id') === null ? [verified] : others;
        return { json: { items, next_page_id: isVerified || items === others ? null : 'x' } };
      },
    });
    const { out } = await at.ends('model list', {});
    expect(out.split('\n').map((line) => line.split('\t').slice(0, 2))).toEqual([
      ['openai/one', 'verified'],
      ['two', 'model'],
      ['x/y/\\x1b[31mz', 'model'],
      [''],
    ]);
    await at.ends('model list --search ONE -q', { out: 'openai/one\n' });
    await at.ends('model list -L 1', { err: 'more results are available' });
  });

  at.rows({
    'model list exits 9 for an answer of another shape': {
      server: { [V1]: { json: { items: [{ name: 7 }] } } },
      acs: 'model list',
      code: 9,
      err: 'models.items[0].name is not a text',
    },
    'model list exits 12 where the server has no such route': {
      server: { [V1]: NOT_FOUND, '/api/options/models': NOT_FOUND },
      acs: 'model list --json',
      code: 12,
      err: 'this server has no route that lists models',
    },
  });
});

describe('model list over V0', () => {
  const at = useV0();
  at.rows({
    'model list prints the names that the server lists': {
      server: { 'GET /api/options/models': { json: ['openai/a', 'b'] } },
      acs: 'model list -q',
      out: 'openai/a\nb\n',
    },
  });
});

describe('model list at a backend', () => {
  const at = useWorld({
    script: backendHandler({
      'GET /api/profiles': { json: { profiles: [{ name: 'fast', model: 'm' }] } },
      'GET /api/llm/models/verified': { json: { models: { openai: ['one'] } } },
      'GET /api/llm/models': { json: { models: ['openai/one', 'two'] } },
    }),
  });
  at.rows({
    'model list prints model profiles, then verified models, then the others': {
      acs: 'model list',
      out: 'fast\tprofile\t\t\t\nopenai/one\tverified\t\t\t\ntwo\tmodel\t\t\t\n',
    },
  });
});

describe('model list on the local service of this machine', () => {
  const at = useWorld({ api: 'v1', spec: 'process' });
  let endpoint: FakeServer;
  let answer: Reply;
  beforeAll(async () => {
    endpoint = await startFake(() => answer);
  });
  afterAll(() => endpoint.close());
  const list = (ending: Parameters<typeof at.ends>[1]) =>
    at.ends('model list -p local', {
      ...ending,
      env: { ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_DATA_DIR: at.world.dataDir },
    });
  const set = (model: string, url = `${endpoint.url}/v1`) =>
    at.acs('settings', 'set', `llm_model=${model}`, `llm_base_url=${url}`);

  it('exits 3 without a model, with both ways to set one', async () => {
    const ways = ['acs conv new', 'acs settings set llm_model=<name> llm_base_url=<url>'];
    await list({ code: 3, err: ways });
  });

  it('prints the models of the endpoint with their contexts and prices', async () => {
    await set('small');
    const pricing = { prompt: '0.00000025', completion: '0.000002' };
    const data = [
      { id: 'small', context_length: 8192, pricing },
      { id: 'auto', max_model_len: 4096, pricing: { prompt: '-1', completion: '' } },
      { id: 'none', context_length: 'many', pricing: 'free' },
      { owned_by: 'nobody' },
      'no record',
    ];
    answer = { json: { data } };
    await list({ out: 'small\tmodel\t8192\t0.25\t2\nauto\tmodel\t4096\t\t\nnone\tmodel\t\t\t\n' });
    answer = { json: { list: [] } };
    await list({ code: 12, err: 'does not list its models' });
    answer = { status: 401, json: { error: { message: 'no key' } } };
    await list({ code: 4, err: 'requires a key: no key' });
  });

  it('prints names that lead to the same endpoint with --model', async () => {
    answer = { json: { data: [{ id: 'other' }, { id: 'openai/gpt-oss-20b' }] } };
    const lines = (...names: string[]) => ({
      out: names.map((name) => `${name}\tmodel\t\t\t\n`).join(''),
    });
    await set('plain');
    await list(lines('other', 'openai/openai/gpt-oss-20b'));
    await set('ollama/plain', endpoint.url);
    await list(lines('ollama/other', 'ollama/openai/gpt-oss-20b'));
    expect(endpoint.asked.at(-1)?.path).toBe('/v1/models');
  });
});
