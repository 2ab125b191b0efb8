/** What each fault of an endpoint does to a run. */
import { expect, it } from 'vitest';
import { member } from '../../../../src/protocol/shape.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import type { OwnWorker } from '../../agent-server/support/worker.ts';
import { freeBlock } from '../../../support/server.ts';
import {
  call,
  delta,
  fail,
  FINISH,
  plain,
  type Reply,
  say,
  send,
  useEndpoint,
} from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint();

interface Fault {
  what: string;
  replies: Reply[];
  llm?: object;
  code: string;
  text: RegExp;
  /** How often the endpoint is called; default: once. */
  calls?: number;
}

const PAST = 'Tue, 24 Nov 2020 00:00:00 GMT';

const FAULTS: Fault[] = [
  {
    what: '401',
    replies: [fail(401, 'Incorrect API key')],
    code: 'LLMAuthenticationError',
    text: /HTTP 401: Incorrect API key\. Set another key: acs settings set llm_api_key=-/,
  },
  {
    what: '401 that repeats the headers of the request',
    replies: [fail(401, 'No such key: sk-of-the-test-1, header-of-the-test, application/json, x')],
    llm: {
      extra_headers: {
        'x-gateway': 'header-of-the-test',
        accept: 'application/json',
        'x-api-key': 'x',
      },
    },
    code: 'LLMAuthenticationError',
    text: /No such key: <secret-hidden>, <secret-hidden>, application\/json, x\./,
  },
  {
    what: '429 that names tokens',
    replies: [fail(429, 'Too many tokens, please wait')],
    code: 'LLMRateLimitError',
    text: /Too many tokens.*Continue the conversation later/,
  },
  {
    what: 'a text that is cut off at the limit of tokens',
    replies: [
      (response) => {
        send(response, delta({ content: 'Half a' }), delta({}, 'length'), '[DONE]');
        response.end();
      },
    ],
    calls: 3,
    code: 'LLMBadResponseError',
    text: /cut off at its limit of tokens, 3 times in a row\. Raise .*max_output_tokens/,
  },
  {
    what: '403',
    replies: [fail(403, 'Forbidden')],
    code: 'LLMAuthenticationError',
    text: /HTTP 403: Forbidden.*llm_api_key/,
  },
  {
    what: '404',
    replies: [fail(404, 'No such model')],
    code: 'LLMNotFoundError',
    text: /HTTP 404: No such model\. Correct llm_base_url, or llm_model \(gpt-4o\)/,
  },
  {
    what: '400',
    replies: [fail(400, 'temperature is not supported')],
    code: 'LLMBadRequestError',
    text: /HTTP 400: temperature is not supported\. Correct the settings of the model/,
  },
  {
    what: '429 with no seconds to wait, more often than it is repeated',
    replies: [fail(429, 'Slow down', { 'retry-after': '0' })],
    llm: { num_retries: 2 },
    calls: 3,
    code: 'LLMRateLimitError',
    text: /HTTP 429: Slow down.*Continue the conversation later/,
  },
  {
    what: '429 with a date that has passed',
    replies: [fail(429, 'Slow down', { 'retry-after': PAST })],
    llm: { num_retries: 2 },
    calls: 3,
    code: 'LLMRateLimitError',
    text: /HTTP 429/,
  },
  {
    what: '429 with a wait that is too long',
    replies: [fail(429, 'Quota used', { 'retry-after': '86400' })],
    llm: { num_retries: 5 },
    code: 'LLMRateLimitError',
    text: /HTTP 429: Quota used/,
  },
  {
    what: '429 without a time to wait',
    replies: [fail(429, 'Slow down')],
    llm: { num_retries: 1 },
    calls: 2,
    code: 'LLMRateLimitError',
    text: /HTTP 429: Slow down/,
  },
  {
    what: '500',
    replies: [fail(500, 'Overloaded')],
    code: 'LLMServiceUnavailableError',
    text: /HTTP 500: Overloaded.*Continue the conversation later/,
  },
  {
    what: '503 with a page of HTML',
    replies: [
      (response) =>
        response.writeHead(503, { 'content-type': 'text/html' }).end('<html>down</html>'),
    ],
    code: 'LLMServiceUnavailableError',
    text: /HTTP 503: Service Unavailable/,
  },
  {
    what: 'a connection that ends before the answer',
    replies: [(response) => response.destroy()],
    code: 'LLMServiceUnavailableError',
    text: /was cut off.*Continue the conversation later/,
  },
  {
    what: 'a connection that ends within the answer',
    replies: [
      (response) => {
        send(response, delta({ content: 'Half an' }));
        setImmediate(() => response.destroy());
      },
    ],
    code: 'LLMServiceUnavailableError',
    text: /was cut off.*Continue the conversation later/,
  },
  {
    what: 'a stream that ends without an end of the answer',
    replies: [
      (response) => {
        send(response, delta({ content: 'Half an' }));
        response.end();
      },
    ],
    code: 'LLMServiceUnavailableError',
    text: /was cut off: .*finish reason/,
  },
  {
    what: 'an empty answer',
    replies: [say('')],
    calls: 3,
    code: 'LLMNoResponseError',
    text: /gpt-4o gave an empty answer, 3 times in a row\. Use another model/,
  },
  {
    what: 'an answer of spaces',
    replies: [say(' \n ')],
    calls: 3,
    code: 'LLMNoResponseError',
    text: /empty answer/,
  },
  {
    what: 'silence',
    replies: [() => undefined],
    llm: { timeout: 1 },
    code: 'LLMTimeoutError',
    text: /sent nothing for 1 s\..*agent_settings\.llm\.timeout/,
  },
  {
    what: 'comments without an answer',
    replies: [
      (response) => {
        send(response);
        const timer = setInterval(() => response.write(': processing\n\n'), 100);
        response.once('close', () => clearInterval(timer));
      },
    ],
    llm: { timeout: 1 },
    code: 'LLMTimeoutError',
    text: /sent nothing for 1 s/,
  },
  {
    what: 'a web page',
    replies: [plain('text/html; charset=utf-8', '<html>Welcome</html>')],
    code: 'LLMBadResponseError',
    text: /answered with text\/html.*Correct llm_base_url: most end with \/v1/,
  },
  {
    what: 'JSON in place of a stream',
    replies: [plain('application/json', '{"detail":"use the other path"}')],
    code: 'LLMBadResponseError',
    text: /answered with application\/json.*use the other path.*llm_base_url/,
  },
  {
    what: 'a text that is no stream of events',
    replies: [plain('text/plain', 'Hello')],
    llm: { num_retries: 4 },
    code: 'LLMBadResponseError',
    text: /answered with text\/plain in place of a stream: Hello/,
  },
  {
    what: 'a promise without a call',
    replies: [say('Let me first look at the repository.')],
    calls: 3,
    code: 'LLMNoResponseError',
    text: /named a next step and called no tool, 3 times in a row/,
  },
  {
    what: 'reasoning alone',
    replies: [say('<think>Hm.</think>')],
    calls: 3,
    code: 'LLMNoResponseError',
    text: /gave reasoning without an answer, 3 times in a row/,
  },
  {
    what: 'a call as text that cannot be read',
    replies: [say('<tool_call>ls</tool_call>')],
    calls: 3,
    code: 'LLMNoResponseError',
    text: /wrote calls of tools as text that cannot be read, 3 times in a row/,
  },
  {
    what: '500 of llama.cpp without --jinja',
    replies: [fail(500, 'tools param requires --jinja flag')],
    llm: { num_retries: 4 },
    code: 'LLMBadRequestError',
    text: /Start llama\.cpp with --jinja/,
  },
  {
    what: 'the status 999',
    replies: [fail(999, 'Blocked')],
    llm: { num_retries: 4 },
    code: 'LLMBadRequestError',
    text: /HTTP 999: .*Blocked/,
  },
  {
    what: 'events that are no JSON',
    replies: [plain('text/event-stream', 'data: {"choices": [}\n\n')],
    code: 'LLMBadResponseError',
    text: /not of an OpenAI-compatible interface.*llm_base_url/,
  },
  {
    what: 'JSON of another interface',
    replies: [plain('text/event-stream', 'data: {"type":"message_start"}\n\n')],
    code: 'LLMBadResponseError',
    text: /not of an OpenAI-compatible interface.*llm_base_url/,
  },
  {
    what: 'an error within the stream',
    replies: [
      (response) => {
        send(response, { error: { message: 'The backend has failed', code: 502 } });
        response.end();
      },
    ],
    code: 'LLMServiceUnavailableError',
    text: /The backend has failed.*Continue the conversation later/,
  },
  {
    what: 'a redirect',
    replies: [
      (response) => response.writeHead(307, { location: 'https://elsewhere.example/v1' }).end(),
    ],
    code: 'LLMBadResponseError',
    text: /redirects to https:\/\/elsewhere\.example\/v1\. Correct llm_base_url/,
  },
  {
    what: 'a text without an end',
    replies: [
      (response) => {
        const more = (): void => {
          while (
            !response.destroyed &&
            response.write(`data: ${JSON.stringify(delta({ content: 'again '.repeat(200) }))}\n\n`)
          );
        };
        send(response);
        response.on('drain', more);
        more();
      },
    ],
    code: 'LLMBadResponseError',
    text: /longer than 1 MiB.*agent_settings\.llm\.max_output_tokens/,
  },
  {
    what: 'arguments without an end',
    replies: [
      (response) => {
        const more = (): void => {
          const piece = { tool_calls: [{ index: 0, function: { arguments: ' '.repeat(1000) } }] };
          while (
            !response.destroyed &&
            response.write(`data: ${JSON.stringify(delta(piece))}\n\n`)
          );
        };
        send(
          response,
          delta({
            tool_calls: [{ index: 0, id: 'a', function: { name: 'think', arguments: '{' } }],
          }),
        );
        response.on('drain', more);
        more();
      },
    ],
    code: 'LLMBadResponseError',
    text: /longer than 1 MiB/,
  },
  {
    what: 'a line without an end',
    replies: [
      (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65536)));
        };
        send(response);
        response.on('drain', more);
        more();
      },
    ],
    code: 'LLMBadResponseError',
    text: /longer than 64 MiB/,
  },
  {
    what: 'headers that are too large',
    replies: [(response) => response.writeHead(200, { 'x-large': 'x'.repeat(100_000) }).end()],
    code: 'LLMServiceUnavailableError',
    text: /Headers Overflow/,
  },
  {
    what: 'a history that is too long, and nothing to condense',
    replies: [fail(400, "This model's maximum context length is 8192 tokens")],
    code: 'LLMContextWindowExceedError',
    text: /maximum context length.*Use a model with a longer context, or start a new conversation/,
  },
];

const tokensOf = ({ value }: StoredEvent): unknown =>
  member(value, 'usage_to_metrics', 'agent', 'accumulated_token_usage', 'prompt_tokens');

async function fault(llm: object): Promise<Record<string, unknown>> {
  await worker.startConversation(null, {
    agent: {
      llm: {
        model: 'openai/gpt-4o',
        api_key: 'sk-of-the-test-1',
        base_url: endpoint.url,
        num_retries: 0,
        ...llm,
      },
    },
  });
  await worker.untilStatus('error');
  return (await worker.events()).at(-1) ?? {};
}

it.each(FAULTS)(
  '$what ends the run in error with what to do',
  async ({ replies, llm = {}, calls = 1, code, text }) => {
    endpoint.reply(...replies);
    const error = await fault(llm);
    expect(error).toMatchObject({ kind: 'ConversationErrorEvent', code });
    expect(error['detail']).toMatch(text);
    expect(endpoint.asked).toHaveLength(calls);
  },
);

it('a port where nothing listens ends the run in error with what to do', async () => {
  const error = await fault({ base_url: `http://127.0.0.1:${await freeBlock()}/v1` });
  expect(error['detail']).toMatch(/nothing listens there\. Start it, or correct llm_base_url/);
});

const UNREACHABLE: [what: string, llm: object, code: string, text: RegExp][] = [
  [
    'a port that is forbidden',
    { base_url: 'http://127.0.0.1:6667/v1' },
    'LLMServiceUnavailableError',
    /bad port/,
  ],
  [
    'a host that is unknown',
    { base_url: 'http://model.invalid/v1' },
    'LLMServiceUnavailableError',
    /no such host/i,
  ],
  [
    'a model of unknown place',
    { base_url: null, model: 'unknown/model' },
    'NoModel',
    /llm_base_url=<url>/,
  ],
  [
    'an address with a password',
    { base_url: 'http://me:hidden-one@127.0.0.1/v1' },
    'LLMBadRequestError',
    /^llm_base_url has a user name or a password/,
  ],
  [
    'an address that is none',
    { base_url: 'localhost:1234/v1' },
    'LLMServiceUnavailableError',
    /correct llm_base_url/,
  ],
  ['no model', { base_url: null, model: '' }, 'NoModel', /llm_model=<model>/],
];

it.each(UNREACHABLE)('%s ends the run in error with what to do', async (_what, llm, code, text) => {
  const error = await fault(llm);
  expect(error).toMatchObject({ kind: 'ConversationErrorEvent', code });
  expect(error['detail']).toMatch(text);
  expect(error['detail']).not.toContain('cut off');
});

it('the cost of the answer that ends the run is counted', async () => {
  endpoint.reply(say(''));
  await fault({ input_cost_per_token: 0.001, output_cost_per_token: 0 });
  const usage = (await worker.events()).filter(({ key }) => key === 'stats').map(tokensOf);
  expect(usage).toEqual([0, 100, 200, 300]);
});

it('an answer after a fault that passes continues the run', async () => {
  endpoint.reply(fail(503, 'Busy', { 'retry-after': '0' }), call(FINISH));
  await worker.startConversation(null, { agent: { llm: { model: 'm', base_url: endpoint.url } } });
  await worker.untilStatus('finished');
  expect(endpoint.asked).toHaveLength(2);
});
