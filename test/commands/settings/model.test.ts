import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  NOT_FOUND,
  routed,
  startFake,
  type FakeServer,
  type Routes,
} from '../../support/server.ts';
import { TestClock } from '../../support/test-clock.ts';
import { useWorld, type Ending } from '../../support/use-world.ts';

const at = useWorld({ api: 'both', spec: 'process' });
/** The commands see that the service is one of this machine. */
const here = () => ({ ACS_BASE_URL: at.world.service.url, ACS_DATA_DIR: at.world.dataDir });

const CHAT = 'POST /v1/chat/completions';
const MODELS = 'GET /v1/models';
const listed = { json: { data: [{ id: 'small' }, { id: 'large' }] } };
const answered = { json: { choices: [{ message: { content: 'OK' } }] } };
const newListed = { json: { data: [{ id: 'new' }] } };
const refused = (status: number, message: string) => ({ status, json: { error: { message } } });

let endpoint: FakeServer;
let routes: Routes;
beforeAll(async () => {
  endpoint = await startFake((asked) => routed(routes)(asked));
});
beforeEach(() => {
  endpoint.asked.length = 0;
  routes = { [CHAT]: answered, [MODELS]: listed };
});
afterAll(() => endpoint.close());

const set = (
  line: string,
  ending: Ending & { stdin?: string; env?: Record<string, string> } = {},
) => at.ends(`settings set ${line}`, { ...ending, env: { ...here(), ...ending.env } });
const stored = () => at.json('settings get llm_model llm_base_url llm_api_key', { env: here() });
const calls = () =>
  endpoint.asked.map(({ method, url, headers }) => [`${method} ${url}`, headers.authorization]);

const OWN_INTERFACES: [model: string, path: string, route: string, answer: object, key: string][] =
  [
    ['anthropic/claude', '/anthropic', 'POST /anthropic/v1/messages', { content: [] }, 'x-api-key'],
    [
      'gemini/gemini-3-pro',
      '/v1beta',
      'POST /v1beta/models/gemini-3-pro:generateContent',
      { candidates: [] },
      'x-goog-api-key',
    ],
    ['openai/responses/gpt-5', '/v1', 'POST /v1/responses', { output: [] }, 'authorization'],
  ];

it('settings set warns of a context of Ollama that is too short', async () => {
  routes = {
    ...routes,
    'GET /api/ps': { json: { models: [{ name: 'small:latest', context_length: 4096 }] } },
    'POST /api/show': { json: { parameters: '' } },
  };
  await set(`llm_model=ollama/small llm_base_url=${endpoint.url}`, {
    err: /context of 4096 tokens and cuts longer requests[^]*OLLAMA_CONTEXT_LENGTH=32768 ollama serve/,
  });
  const doctor = await at.json('doctor', { env: here() });
  expect(JSON.stringify(doctor)).toContain('context of 4096 tokens');
});

it('settings set and doctor call the interface that api_mode chooses', async () => {
  routes = { 'POST /v1/responses': { json: { output: [] } } };
  await set(
    `llm_model=small llm_base_url=${endpoint.url}/v1 agent_settings.llm.api_mode=responses`,
  );
  const doctor = await at.json('doctor', { env: here() });
  expect(JSON.stringify(doctor)).toContain(`small at ${endpoint.url}/v1 answers`);
  expect(calls().map(([route]) => route)).toEqual(['POST /v1/responses', 'POST /v1/responses']);
  await set('agent_settings.llm.api_mode=chat', { code: 9 });
  expect(calls().at(-1)?.[0]).not.toBe('POST /v1/responses');
  await set('agent_settings.llm.api_mode=auto --no-check');
});

it.each(OWN_INTERFACES)(
  'settings set tries %s through its own interface',
  async (model, path, route, answer, header) => {
    routes = { [route]: { json: answer } };
    await set(`llm_model=${model} llm_base_url=${endpoint.url}${path} llm_api_key=-`, {
      stdin: 'sk-own',
      hides: 'sk-own',
    });
    expect(endpoint.asked.map(({ headers }) => headers[header])).toContainEqual(
      expect.stringContaining('sk-own'),
    );
    expect(endpoint.asked.at(-1)?.body).toHaveProperty('tools');
    expect(await stored()).toMatchObject({ llm_model: model });
  },
);

it('model list reads the list of Google, and a wrong key there is named', async () => {
  const models = [{ name: 'models/gemini-3-pro', inputTokenLimit: 1_048_576 }];
  const own = `llm_model=gemini/gemini-3-pro llm_base_url=${endpoint.url}/v1beta llm_api_key=-`;
  routes = { '/v1beta/models': { json: { models } } };
  await set(`--no-check ${own}`, { stdin: 'sk-own' });
  expect(await at.json('model list', { env: here() })).toMatchObject({
    items: [{ id: 'gemini/gemini-3-pro', context: 1_048_576 }],
  });
  routes = {
    'POST /v1beta/models/gemini-3-pro:generateContent': refused(400, 'API key not valid.'),
  };
  await set(own, { stdin: 'sk-own', code: 4, err: /llm_api_key: .* refuses the key/ });
});

describe('settings set of a model on the local service of this machine', () => {
  it('stores a model that answers a call with the key', async () => {
    await set(`llm_model=small llm_base_url=${endpoint.url}/v1 llm_api_key=-`, {
      stdin: 'sk-one',
      hides: 'sk-one',
    });
    expect(calls()).toEqual([[CHAT, 'Bearer sk-one']]);
    expect(endpoint.asked[0]?.body).toMatchObject({ model: 'small', max_tokens: 1 });
    expect(await stored()).toEqual({
      llm_model: 'small',
      llm_base_url: `${endpoint.url}/v1`,
      llm_api_key: '(set)',
    });
  });

  it('takes an endpoint that streams each answer', async () => {
    routes[CHAT] = { text: 'data: {"choices":[]}\n\ndata: [DONE]\n\n', type: 'text/event-stream' };
    await set(`llm_model=large llm_base_url=${endpoint.url}/v1`);
  });

  it('calls another model with the key that is stored', async () => {
    await set('llm_model=large');
    expect(calls()).toEqual([[CHAT, 'Bearer sk-one']]);
    expect(await stored()).toMatchObject({ llm_model: 'large' });
  });

  it('calls nothing for other settings, without a model, with --no-check, and for a service elsewhere', async () => {
    await set('max_iterations=7');
    await set('llm_model=small --no-check');
    await set('llm_model=large', { env: { ACS_DATA_DIR: at.dir } });
    await at.ends('settings unset llm_model', { env: here() });
    await set('llm_base_url=http://127.0.0.1:9/v1');
    expect(calls()).toEqual([]);
  });

  const wrong: [string, Routes, code: number, words: RegExp][] = [
    [
      'a key that is refused',
      { [CHAT]: refused(401, 'Incorrect API key') },
      4,
      /llm_api_key: .* refuses the key: Inc/,
    ],
    [
      'a model that is unknown',
      { [CHAT]: refused(404, 'no such') },
      5,
      /answered 404 for "new": no such[^]*it lists small, large/,
    ],
    [
      'a model of an empty list',
      { [CHAT]: refused(404, 'no such'), [MODELS]: { json: { data: [] } } },
      5,
      /no model/,
    ],
    [
      'a listed model that does not chat',
      { [MODELS]: newListed, [CHAT]: refused(404, 'no tool use') },
      5,
      /no tool use/,
    ],
    [
      'a listed model without tools',
      { [MODELS]: newListed, [CHAT]: refused(400, 'no tools') },
      2,
      /400 .* no tools/,
    ],
    [
      'a URL of something else',
      { [CHAT]: NOT_FOUND, [MODELS]: NOT_FOUND },
      9,
      /no OpenAI.*404[^]*check the URL/,
    ],
    [
      'an error in a stream',
      { [CHAT]: { text: 'data: {"error":{"message":"no"}}\n\n', type: 'text/event-stream' } },
      9,
      /no OpenAI-compatible interface \(it answered 200, text\/event-stream\)/,
    ],
    [
      'a page in place of an answer',
      { [CHAT]: { text: '<p>', type: 'text/html' } },
      9,
      /no OpenAI-compatible interface \(it answered 200, text\/html\)/,
    ],
    [
      'a limit that is reached',
      { [CHAT]: refused(429, 'You exceeded your quota') },
      7,
      /429 .*: You exceeded[^]*try again later/,
    ],
    [
      'an account without credit',
      { [CHAT]: refused(402, 'no credits') },
      6,
      /402 .*: no credits[^]*at the provider/,
    ],
    [
      'a server that fails',
      { [CHAT]: refused(503, 'overloaded') },
      9,
      /503 .*: overloaded[^]*log of the endpoint/,
    ],
  ];
  it.each(wrong)('stores nothing after %s', async (_, script, code, words) => {
    const before = await stored();
    routes = { ...routes, ...script };
    const line = `llm_model=new llm_base_url=${endpoint.url}/v1 llm_api_key=-`;
    await set(line, {
      stdin: 'sk-two',
      code,
      out: '',
      err: [words, '--no-check'],
      hides: 'sk-two',
    });
    expect(await stored()).toEqual(before);
  });

  it('stores the price of a token', async () => {
    const price = 'agent_settings.llm.input_cost_per_token';
    await set(`${price}=0.0000025`, { out: '0.0000025\n' });
  });

  it('names the URL where nothing listens', async () => {
    const line = 'llm_model=small llm_base_url=http://127.0.0.1:9/v1';
    await set(line, { code: 10, err: 'llm_base_url: nothing listens at 127.0.0.1:9' });
  });

  it('names /v1 for a URL without it', async () => {
    routes = { ...routes, 'POST /chat/completions': NOT_FOUND };
    await set(`llm_model=small llm_base_url=${endpoint.url}`, {
      code: 9,
      err: 'most of these URLs end with /v1',
    });
  });

  it('calls a model that refuses max_tokens with max_completion_tokens, each time with a tool', async () => {
    routes = {
      ...routes,
      [CHAT]: ({ body }) => ('max_tokens' in Object(body) ? refused(400, 'max_tokens') : answered),
    };
    await set(`llm_model=large llm_base_url=${endpoint.url}/v1`);
    const tools = [{ type: 'function', function: { parameters: { type: 'object' } } }];
    expect(endpoint.asked.map(({ body }) => body)).toMatchObject([
      { tools },
      { tools, max_completion_tokens: 1000 },
    ]);
    expect(await stored()).toMatchObject({ llm_model: 'large' });
  });

  it('stores a name that the endpoint lists with openai/ so that it is called by its whole name', async () => {
    routes = { ...routes, [MODELS]: { json: { data: [{ id: 'openai/gpt-oss-20b' }] } } };
    const line = `llm_model=openai/gpt-oss-20b llm_base_url=${endpoint.url}/v1`;
    await set(line, { err: 'which is stored as openai/openai/gpt-oss-20b' });
    expect(await stored()).toMatchObject({ llm_model: 'openai/openai/gpt-oss-20b' });
    expect(endpoint.writes()[0]?.body).toMatchObject({ model: 'openai/gpt-oss-20b' });
  });

  it('neither sends nor keeps a key at another origin than it was stored for', async () => {
    await set(`llm_model=small llm_base_url=${endpoint.url}/v1 llm_api_key=-`, { stdin: 'sk-one' });
    await set(`llm_base_url=${endpoint.url}/v1`);
    expect(await stored()).toMatchObject({ llm_api_key: '(set)' });
    endpoint.asked.length = 0;
    const elsewhere = `${endpoint.url.replace('127.0.0.1', 'localhost')}/v1`;
    routes = { ...routes, [CHAT]: refused(401, 'no key') };
    await set(`llm_base_url=${elsewhere}`, {
      code: 4,
      err: ['the stored key is removed', 'llm_api_key=-'],
    });
    expect(await stored()).toMatchObject({
      llm_base_url: `${endpoint.url}/v1`,
      llm_api_key: '(set)',
    });
    routes = { ...routes, [CHAT]: answered };
    await set(`llm_base_url=${elsewhere}`, {
      err: ['the stored key is removed', 'llm_api_key: (set) -> (unset)'],
    });
    expect(calls()).toEqual([
      [CHAT, undefined],
      [CHAT, undefined],
    ]);
    expect(await stored()).toMatchObject({ llm_base_url: elsewhere, llm_api_key: null });
  });

  it('refuses a URL that cannot be read', async () => {
    await set('llm_base_url=http://[', { code: 9, err: ['not a URL', 'nothing was stored'] });
  });

  it('refuses a URL with a user name', async () => {
    const line = 'llm_base_url=http://user:pass@127.0.0.1:9/v1 --no-check';
    await set(line, {
      code: 2,
      err: 'llm_base_url: must be an http or https URL without a user name',
    });
  });
});

describe('other changes of the model on the local service of this machine', () => {
  beforeEach(() =>
    set(`llm_model=small llm_base_url=${endpoint.url}/v1 llm_api_key=-`, { stdin: 'sk-one' }),
  );
  const failing = () => (routes = { ...routes, [CHAT]: refused(503, 'overloaded') });
  const ends = (line: string, ending: Parameters<typeof at.ends>[1]) =>
    at.ends(line, { ...ending, env: here() });

  it('settings edit stores nothing when the model fails', async () => {
    failing();
    const answers = ['{"llm_model":"large"}'];
    await ends('settings edit', { answers, code: 9, err: 'nothing was stored' });
    expect(await stored()).toMatchObject({ llm_model: 'small' });
    await ends('settings edit --no-check', { answers, code: 0 });
    expect(await stored()).toMatchObject({ llm_model: 'large' });
  });

  it('settings unset refuses to leave a model without a URL, and clears the key or all without a call', async () => {
    endpoint.asked.length = 0;
    const err = ['where "small" is served is not known', 'nothing was stored'];
    await ends('settings unset llm_base_url', { code: 5, err });
    expect(await stored()).toMatchObject({ llm_base_url: `${endpoint.url}/v1` });
    await ends('settings unset llm_api_key', { code: 0 });
    await ends('settings unset llm_model llm_base_url llm_api_key', { code: 0 });
    expect(await stored()).toEqual({ llm_model: null, llm_base_url: null, llm_api_key: null });
    expect(calls()).toEqual([]);
  });

  it('settings unset of the model and its URL also clears the key, which no other origin may get', async () => {
    await ends('settings unset llm_model llm_base_url', { err: 'llm_api_key: (set) -> (unset)' });
    expect(await stored()).toEqual({ llm_model: null, llm_base_url: null, llm_api_key: null });
  });

  it('settings profile use warns when the model fails', async () => {
    await ends('settings profile save mine', { code: 0 });
    await ends('settings profile use mine', { err: '' });
    failing();
    await ends('settings profile use mine', { err: /warning: llm_model: .* answered 503/ });
  });
});

describe('doctor on the local service of this machine', () => {
  const model = async (code: number) => {
    const { out } = await at.ends('doctor --json', { code, env: here(), hides: 'sk-one' });
    const { items } = JSON.parse(out) as {
      items: { id: string; status: string; text: string; hint: string | null }[];
    };
    return items.find(({ id }) => id === 'model');
  };

  it('calls the model with the stored key, and passes or fails by its answer', async () => {
    await set(`llm_model=small llm_base_url=${endpoint.url}/v1 llm_api_key=-`, { stdin: 'sk-one' });
    endpoint.asked.length = 0;
    expect(await model(0)).toMatchObject({
      status: 'pass',
      text: `small at ${endpoint.url}/v1 answers`,
    });
    expect(calls()).toEqual([[CHAT, 'Bearer sk-one']]);
    routes = { ...routes, [CHAT]: refused(401, 'expired') };
    const hint = 'give the key: acs settings set llm_api_key=-';
    expect(await model(1)).toMatchObject({
      status: 'fail',
      text: expect.stringContaining('refuses the key: expired') as string,
      hint,
    });
  });

  it('fails a model whose name is another one at the endpoint, and names the one to store', async () => {
    routes = { ...routes, [MODELS]: { json: { data: [{ id: 'openai/gpt-oss-20b' }] } } };
    await set(`llm_model=openai/gpt-oss-20b llm_base_url=${endpoint.url}/v1 --no-check`);
    const hint = 'acs settings set llm_model=openai/openai/gpt-oss-20b';
    expect(await model(1)).toMatchObject({ status: 'fail', hint });
  });

  it('waits for a silent model no longer than for a server', async () => {
    await set(`llm_model=small llm_base_url=${endpoint.url}/v1`);
    const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
    let limitMs = 0;
    routes = { ...routes, [CHAT]: () => ((limitMs = clock.pauses.at(-1) ?? 0), answered) };
    await at.ends('doctor', { env: here(), clock });
    // The limit of an answer is that of its silence times ten.
    expect(limitMs).toBe(10 * 30_000);
    routes = { ...routes, [CHAT]: { silence: true } };
    await at.ends('doctor --request-timeout 300ms', {
      code: 1,
      env: here(),
      out: /sent nothing for 0\.3 s/,
    });
  });

  it('prints the failed checks with -q', async () => {
    await set(`llm_model=small llm_base_url=${endpoint.url}/v1`);
    routes = { ...routes, [CHAT]: refused(503, 'overloaded') };
    const { err } = await at.ends('doctor -q', { code: 1, env: here() });
    expect(err).toBe('error: failed checks: model\n');
  });
});
