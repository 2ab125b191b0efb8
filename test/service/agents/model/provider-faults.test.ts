/** What faults and settings do at the interfaces of Anthropic, OpenAI and Google. */
import { describe, expect, it } from 'vitest';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import { message, type OwnWorker } from '../../agent-server/support/worker.ts';
import {
  type Answer,
  type Body,
  KEY,
  type ProviderName,
  PROVIDERS,
  refuse,
  type Reply,
  stream,
  useProviders,
} from './provider.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useProviders();

const FINISH: Answer = { calls: [['finish', { message: 'All done.' }]] };

/** The body of the first request of a run that finishes at once. */
async function bodyOf(name: ProviderName, llm: object): Promise<Body> {
  endpoint.reply(stream(PROVIDERS[name].events(FINISH)));
  await worker.startConversation(null, { agent: endpoint.agent(name, llm) });
  await worker.untilStatus('finished');
  return endpoint.asked[0]?.body ?? {};
}

interface Fault {
  what: string;
  /** For each interface, where it can occur. */
  replies: Partial<Record<ProviderName, Reply[]>>;
  llm?: object;
  calls?: number;
  code: string;
  text: RegExp;
}

/** The beginning of an answer, and an error in place of the rest. */
function brokenOff(name: ProviderName, type: string, text: string, status: number): Reply {
  const { events, error } = PROVIDERS[name];
  return stream([
    ...events({ text: 'Half an' }).slice(0, name === 'google' ? 1 : 4),
    error(type, text, status),
  ]);
}

function refused(name: ProviderName, status: number, type: string, text: string): Reply {
  return refuse(status, PROVIDERS[name].error(type, text, status));
}

const ofAll = (reply: (name: ProviderName) => Reply): Fault['replies'] => ({
  anthropic: [reply('anthropic')],
  openai: [reply('openai')],
  google: [reply('google')],
});

const FAULTS: Fault[] = [
  {
    what: 'a wrong key, which the answer repeats',
    replies: {
      anthropic: [refused('anthropic', 401, 'authentication_error', `invalid ${KEY}`)],
      openai: [refused('openai', 401, 'invalid_request_error', `Incorrect ${KEY}`)],
      google: [refused('google', 400, 'API_KEY_INVALID', `No such ${KEY}`)],
    },
    code: 'LLMAuthenticationError',
    text: /HTTP 40[01]: \w+ \w*\s?\w*\s?<secret-hidden>\. Set another key/,
  },
  {
    what: 'a rate limit',
    replies: {
      anthropic: [refused('anthropic', 429, 'rate_limit_error', 'Too many input tokens')],
      openai: [refused('openai', 429, 'rate_limit_exceeded', 'Too many tokens')],
      google: [refused('google', 429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for tokens')],
    },
    llm: { num_retries: 1 },
    calls: 2,
    code: 'LLMRateLimitError',
    text: /HTTP 429: .*Continue the conversation later/,
  },
  {
    what: 'an endpoint that is overloaded, said in the stream',
    replies: {
      anthropic: [brokenOff('anthropic', 'overloaded_error', 'Overloaded', 529)],
      openai: [brokenOff('openai', 'server_is_overloaded', 'Overloaded', 503)],
      google: [brokenOff('google', 'UNAVAILABLE', 'Overloaded', 503)],
    },
    llm: { num_retries: 1 },
    calls: 2,
    code: 'LLMServiceUnavailableError',
    text: /HTTP 5\d\d: Overloaded\. Continue the conversation later/,
  },
  {
    what: 'an error that is the first event of the stream and does not pass',
    replies: ofAll((name) =>
      stream([PROVIDERS[name].error('invalid_request_error', 'No such parameter', 400)]),
    ),
    llm: { num_retries: 4 },
    code: 'LLMBadRequestError',
    text: /HTTP 400: No such parameter\. Correct the settings/,
  },
  {
    what: 'an error within the stream that does not pass',
    replies: ofAll((name) => brokenOff(name, 'invalid_request_error', 'No such parameter', 400)),
    llm: { num_retries: 4 },
    code: 'LLMBadRequestError',
    text: /HTTP 400: No such parameter\. Correct the settings/,
  },
  {
    what: 'a history that is too long, and nothing to condense',
    replies: {
      anthropic: [refused('anthropic', 400, 'invalid_request_error', 'prompt is too long: 3 > 2')],
      openai: [refused('openai', 400, 'x', 'Your input exceeds the context window of this model')],
      google: [refused('google', 400, 'INVALID_ARGUMENT', 'The input token count (3) exceeds 2')],
    },
    code: 'LLMContextWindowExceedError',
    text: /Use a model with a longer context/,
  },
  {
    what: 'a text that is cut off at the limit of tokens',
    replies: {
      anthropic: [stream(PROVIDERS.anthropic.events({ text: 'Half a' }, 'max_tokens'))],
      openai: [stream(PROVIDERS.openai.events({ text: 'Half a' }, 'max_output_tokens'))],
      google: [stream(PROVIDERS.google.events({ text: 'Half a' }, 'MAX_TOKENS'))],
    },
    calls: 3,
    code: 'LLMBadResponseError',
    text: /cut off at its limit of tokens, 3 times in a row/,
  },
  {
    what: 'a refusal to answer',
    replies: {
      anthropic: [stream(PROVIDERS.anthropic.events({ text: 'I cannot.' }, 'refusal'))],
      openai: [stream(PROVIDERS.openai.events({ text: 'I cannot.' }, 'content_filter'))],
      google: [stream(PROVIDERS.google.events({ text: 'I cannot.' }, 'SAFETY'))],
    },
    code: 'LLMNoResponseError',
    text: /refused to answer \(\w+\): I cannot\. Send the task in other words/,
  },
  {
    what: 'a prompt that is blocked',
    replies: { google: [stream([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }])] },
    code: 'LLMNoResponseError',
    text: /refused to answer \(PROHIBITED_CONTENT\)\. Send the task in other words/,
  },
  {
    what: 'a stream that ends without an end of the answer',
    replies: ofAll((name) =>
      stream(PROVIDERS[name].events({ text: 'Half an' }).slice(0, name === 'google' ? 1 : 4)),
    ),
    code: 'LLMServiceUnavailableError',
    text: /was cut off: .*Continue the conversation later/,
  },
  {
    what: 'a connection that ends within the answer',
    replies: ofAll((name) =>
      stream(
        PROVIDERS[name].events({ text: 'Half an' }).slice(0, name === 'google' ? 1 : 4),
        false,
      ),
    ),
    code: 'LLMServiceUnavailableError',
    text: /was cut off: .*Continue the conversation later/,
  },
  {
    what: 'events of another interface',
    replies: ofAll(() => stream([{ choices: [], candidates: 1 }])),
    code: 'LLMBadResponseError',
    text: /is not of the (?:interface|Responses interface) of \w+: .*Correct llm_base_url/,
  },
  {
    what: 'an empty answer',
    replies: ofAll((name) => stream(PROVIDERS[name].events({}))),
    calls: 3,
    code: 'LLMNoResponseError',
    text: /gave an empty answer, 3 times in a row/,
  },
  {
    what: 'reasoning alone',
    replies: {
      anthropic: [stream(PROVIDERS.anthropic.events({ reasoning: 'Hm.', signature: 's' }))],
      openai: [stream(PROVIDERS.openai.events({ reasoning: 'Hm.', signature: 's' }))],
      google: [stream(PROVIDERS.google.events({ reasoning: 'Hm.' }))],
    },
    calls: 3,
    code: 'LLMNoResponseError',
    text: /gave reasoning without an answer, 3 times in a row/,
  },
  {
    what: 'reasoning of another key',
    replies: { openai: [refused('openai', 400, 'invalid_encrypted_content', 'Not verified')] },
    code: 'LLMBadRequestError',
    text: /Not verified\. Set agent_settings\.llm\.enable_encrypted_reasoning=false/,
  },
];

const CASES = FAULTS.flatMap(({ replies, ...fault }) =>
  (Object.entries(replies) as [ProviderName, Reply[]][]).map(([name, own]) => ({
    ...fault,
    name,
    own,
  })),
);

it.each(CASES)('$what at $name ends the run in error with what to do', async (fault) => {
  const { name, own, llm = {}, calls = 1, code, text } = fault;
  endpoint.reply(...own);
  await worker.startConversation(null, { agent: endpoint.agent(name, llm) });
  await worker.untilStatus('error');
  const error = (await worker.events()).at(-1);
  expect(error).toMatchObject({ kind: 'ConversationErrorEvent', code });
  expect(error?.['detail']).toMatch(text);
  expect(endpoint.asked).toHaveLength(calls);
});

const SETTINGS: [name: ProviderName, what: string, llm: object, body: object][] = [
  [
    'anthropic',
    'adaptive reasoning with an effort to a newer Claude',
    { model: 'anthropic/claude-opus-4-6', reasoning_effort: 'medium' },
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'medium' } },
  ],
  [
    'anthropic',
    'no reasoning with the effort none',
    { model: 'anthropic/claude-opus-4-6', reasoning_effort: 'none' },
    { thinking: { type: 'disabled' } },
  ],
  [
    'anthropic',
    'the budget of the effort to an older Claude',
    { reasoning_effort: 'low' },
    { thinking: { type: 'enabled', budget_tokens: 4096 } },
  ],
  [
    'anthropic',
    'the usual budget of openhands-sdk to an older Claude',
    {},
    { thinking: { type: 'enabled', budget_tokens: 200_000 }, max_tokens: 64_000 },
  ],
  [
    'anthropic',
    'top_k without reasoning, and no mark for the cache',
    { extended_thinking_budget: 0, top_k: 5, caching_prompt: false },
    { top_k: 5, system: [{ type: 'text', text: expect.any(String) as string }] },
  ],
  [
    'anthropic',
    'no reasoning to a model that is not known',
    { model: 'anthropic/glm-4.6' },
    { model: 'glm-4.6', max_tokens: 4096 },
  ],
  [
    'openai',
    'the usual effort of openhands-sdk',
    {},
    { reasoning: { effort: 'high' }, store: false },
  ],
  [
    'openai',
    'no request for encrypted reasoning when it is off',
    { enable_encrypted_reasoning: false },
    { include: [], store: false },
  ],
  [
    'google',
    'the seed, top_k and the level of reasoning',
    { seed: 7, top_k: 5 },
    { generationConfig: { seed: 7, topK: 5, thinkingConfig: { thinkingLevel: 'high' } } },
  ],
  [
    'google',
    'the budget of the effort to Gemini 2.5',
    { model: 'gemini/gemini-2.5-flash', reasoning_effort: 'low' },
    { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 4096 } } },
  ],
  [
    'google',
    'as many tokens of reasoning as Gemini 2.5 takes by default',
    { model: 'gemini/gemini-2.5-pro' },
    { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: -1 } } },
  ],
];

it.each(SETTINGS)('a request to %s has %s', async (name, _what, llm, body) => {
  expect(await bodyOf(name, llm)).toMatchObject(body);
});

describe('a model that did not write the history', () => {
  async function switched(from: ProviderName, to: ProviderName, llm: object): Promise<Body> {
    const call: Answer = { reasoning: 'Hm.', signature: 's', calls: [['think', { thought: 'a' }]] };
    endpoint.reply(...[call, FINISH].map((answer) => stream(PROVIDERS[from].events(answer))));
    await worker.startConversation(null, { agent: endpoint.agent(from, llm) });
    await worker.untilStatus('finished');
    const { llm: other } = endpoint.agent(to) as { llm: object };
    endpoint.reply(stream(PROVIDERS[to].events(FINISH)));
    const route = '/api/conversations/7f0c2d4e-1a3b-4c5d-8e9f-a1b2c3d4e5f6';
    await worker.call('POST', `${route}/switch_llm`, { llm: other });
    await worker.call('POST', `${route}/events`, message('And now?'));
    await worker.untilStatus('finished');
    return endpoint.asked.at(-1)?.body ?? {};
  }

  it.each<[ProviderName, ProviderName]>([
    ['openai', 'anthropic'],
    ['google', 'anthropic'],
    ['anthropic', 'openai'],
    ['anthropic', 'google'],
  ])('gets no reasoning of %s as %s', async (from, to) => {
    const body = await switched(from, to, {});
    expect(endpoint.asked).toHaveLength(3);
    expect(JSON.stringify(body)).not.toMatch(/"s"|Hm\./);
    // Without a signed block before its calls, Claude refuses a request with reasoning.
    if (to === 'anthropic') expect(body).not.toHaveProperty('thinking');
  });
});
