/** What endpoints get. A proxy leads each host to the endpoint of the test. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startProxy, type ProxyServer } from '../../../support/server.ts';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import type { OwnWorker } from '../../agent-server/support/worker.ts';
import {
  type Asked,
  call,
  delta,
  FINISH,
  type Reply,
  run,
  say,
  send,
  useEndpoint,
} from './endpoint.ts';

let worker: OwnWorker;
const endpoint = useEndpoint({
  '/api/ps': {},
  '/api/show': {},
});
let proxy: ProxyServer;
beforeAll(async () => {
  proxy = await startProxy({ to: () => endpoint.url });
});
afterAll(() => proxy.close());
useEmptiedWorker(
  (started) => (worker = started),
  () => ({ env: { HTTP_PROXY: proxy.url, NO_PROXY: '' } }),
);

/** The bodies of the calls in a run with this model. */
async function callsOf(
  llm: object,
  ...replies: Reply[]
): Promise<(Asked & Record<string, unknown>)[]> {
  endpoint.reply(...replies);
  await worker.startConversation(null, { agent: endpoint.agent(llm) });
  await worker.untilStatus('finished');
  return endpoint.asked as (Asked & Record<string, unknown>)[];
}

/** As openhands-sdk 1.11.5 sends them, whatever the model. */
const ALWAYS = { temperature: 0, top_p: 1, max_output_tokens: 128_000 };

const BODIES: [what: string, llm: object, has: object, hasNot: string[]][] = [
  [
    'a limit and sampling as given to an unknown endpoint',
    { model: 'qwen3', ...ALWAYS },
    {
      model: 'qwen3',
      temperature: 0,
      top_p: 1,
      max_tokens: 128_000,
      stream_options: { include_usage: true },
    },
    ['max_completion_tokens'],
  ],
  [
    'no sampling, and the limit under its other name, to a reasoning model of OpenAI',
    { model: 'openai/gpt-5-mini', ...ALWAYS },
    { model: 'gpt-5-mini', max_completion_tokens: 128_000 },
    ['temperature', 'top_p', 'max_tokens'],
  ],
  [
    'one of both samplings to the OpenAI-compatible interface of Anthropic',
    {
      model: 'claude-sonnet-4-5',
      base_url: 'http://api.anthropic.com/v1',
      api_mode: 'chat',
      ...ALWAYS,
    },
    { temperature: 0, max_tokens: 128_000 },
    ['top_p'],
  ],
  [
    'no options of a stream to Mistral',
    { model: 'mistral-large', base_url: 'http://api.mistral.ai/v1' },
    { stream: true },
    ['stream_options'],
  ],
  [
    'a seed, top_k, an effort and further members as given to an unknown endpoint',
    {
      model: 'qwen3',
      seed: 7,
      top_k: 5,
      reasoning_effort: 'low',
      litellm_extra_body: { guided_decoding: true, seed: 8 },
    },
    { seed: 8, top_k: 5, reasoning_effort: 'low', guided_decoding: true },
    [],
  ],
  [
    'no usual effort of openhands-sdk to an unknown model',
    { model: 'qwen3', reasoning_effort: 'high' },
    {},
    ['reasoning_effort'],
  ],
  [
    'the usual effort to a model that takes it',
    { model: 'gpt-5' },
    { reasoning_effort: 'high' },
    [],
  ],
  [
    'marks for the cache to Claude at OpenRouter',
    { model: 'openrouter/anthropic/claude-opus-4-5', base_url: 'http://openrouter.ai/v1' },
    {
      messages: ['system', 'user'].map((role) => ({
        role,
        content: [{ type: 'text', cache_control: { type: 'ephemeral' } }],
      })),
    },
    [],
  ],
  [
    'no marks with caching_prompt off',
    {
      model: 'openrouter/anthropic/claude-opus-4-5',
      base_url: 'http://openrouter.ai/v1',
      caching_prompt: false,
    },
    { messages: [{ role: 'system' }, { role: 'user', content: 'Please do it.' }] },
    [],
  ],
  [
    'the OpenAI-compatible interface of ollama',
    { model: 'ollama/qwen3', base_url: 'http://ollama.test' },
    {},
    [],
  ],
];

it.each(BODIES)('an agent sends %s', async (_what, llm, has, hasNot) => {
  const [body] = await callsOf(llm, call(FINISH));
  expect(body).toMatchObject(has);
  expect(Object.keys(body ?? {}).filter((name) => hasNot.includes(name))).toEqual([]);
  expect(body?.path).toBe('/v1/chat/completions');
});

it('marks for the cache are on the newest two inputs', async () => {
  const llm = {
    model: 'openrouter/anthropic/claude-opus-4-5',
    base_url: 'http://openrouter.ai/v1',
  };
  const calls = [call(run('true')), call(run('false'))];
  const bodies = await callsOf(llm, ...calls, call(FINISH));
  const marked = bodies.map(({ messages }) =>
    messages.flatMap((message, index) =>
      JSON.stringify(message).includes('cache_control') ? [index] : [],
    ),
  );
  expect(marked).toEqual([
    [0, 1],
    [0, 1, 3],
    [0, 3, 5],
  ]);
});

it('a request has the api_version as a parameter of its URL', async () => {
  const [body] = await callsOf({ model: 'm', api_version: '2025-04-01' }, call(FINISH));
  expect(body?.path).toBe('/v1/chat/completions?api-version=2025-04-01');
});

it('a model without native calls gets tools, calls and results as text', async () => {
  const inText =
    '<function=terminal>\n<parameter=command>\nprintf hello\n</parameter>\n</function>';
  const [first, second] = await callsOf(
    { model: 'devstral', native_tool_calling: false },
    say(`I look.\n${inText}`),
    say('<function=finish>\n<parameter=message>\nAll done.\n</parameter>\n</function>'),
  );
  expect(first).not.toHaveProperty('tools');
  expect(first?.messages[0]?.content).toMatch(/Tool terminal: .*"command".*<function=/s);
  const [, , said, result] = second?.messages ?? [];
  expect(said).toEqual({ role: 'assistant', content: `I look.\n${inText}` });
  expect(result?.role).toBe('user');
  expect(result?.content).toMatch(/^Result of terminal:\nhello/);
});

/** A call with what models add to it. */
const thoughtful: Reply = (response) => {
  const [name, input] = run('true');
  const extra_content = { google: { thought_signature: 'signature-of-the-call' } };
  const tool_call = {
    index: 0,
    id: 'x',
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  };
  send(
    response,
    delta({ reasoning_content: 'Hm.' }),
    delta({ tool_calls: [{ ...tool_call, extra_content }] }),
  );
  send(response, delta({}, 'tool_calls'), '[DONE]');
  response.end();
};

it.each([
  ['qwen3', undefined],
  ['deepseek-reasoner', 'Hm.'],
])(
  'the history of %s has signatures of calls, short ids, and reasoning where it is accepted',
  async (model, reasoning) => {
    const [, second] = await callsOf({ model }, thoughtful, call(FINISH));
    const answer = second?.messages.find(({ role }) => role === 'assistant') as
      Record<string, unknown> | undefined;
    expect(answer?.['reasoning_content']).toBe(reasoning);
    expect(answer?.['tool_calls']).toMatchObject([
      {
        id: expect.stringMatching(/^[a-z0-9]{9}$/) as string,
        extra_content: { google: { thought_signature: 'signature-of-the-call' } },
      },
    ]);
  },
);
