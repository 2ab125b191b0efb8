/** What endpoints get. A proxy leads each host to the endpoint of the test. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startProxy, type ProxyServer } from '../../../support/server.ts';
import { sandboxOfTest } from '../../agent-server/support/shared-sandboxes.ts';
import { ID } from '../../agent-server/support/worker.ts';
import { type Asked, call, delta, FINISH, type Reply, run, send, useEndpoint } from './endpoint.ts';

const sandbox = sandboxOfTest();
const endpoint = useEndpoint();
let proxy: ProxyServer;
beforeAll(async () => {
  proxy = await startProxy({ to: () => endpoint.url });
});
afterAll(() => proxy.close());

/** The bodies of the calls in a run with this model. */
async function callsOf(
  llm: object,
  ...replies: Reply[]
): Promise<(Asked & Record<string, unknown>)[]> {
  const worker = await sandbox.start({ env: { HTTP_PROXY: proxy.url, NO_PROXY: '' } });
  endpoint.reply(...replies);
  await worker.startConversation(null, { agent: endpoint.agent(llm) });
  await worker.untilStatus('finished');
  await worker.call('DELETE', `/api/conversations/${ID}`);
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
    'one of both samplings to Anthropic',
    { model: 'claude-sonnet-4-5', base_url: 'http://api.anthropic.com/v1', ...ALWAYS },
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
