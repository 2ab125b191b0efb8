/** How a model is called at each interface, and what the settings mean there. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  extractReasoningMiddleware,
  type JSONValue,
  type LanguageModelMiddleware,
  type ModelMessage,
  type ToolSet,
  wrapLanguageModel,
} from 'ai';
import type { Llm } from '../../../protocol/agent-server/requests.ts';
import type { Api, Endpoint } from '../../base/model-endpoint.ts';

type Model = Parameters<typeof wrapLanguageModel>[0]['model'];
type Options = Record<string, JSONValue | undefined>;

interface Connection {
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
  fetch: typeof fetch;
}

interface Interface {
  /** The key of its options in a request. */
  name: string;
  open(endpoint: Endpoint, to: Connection, llm: Llm): Promise<Model>;
  options(llm: Llm, model: string, messages: readonly ModelMessage[]): Options;
  /** Members of the body that its library does not send. */
  members?(llm: Llm): Options;
  tools?(tools: ToolSet): ToolSet;
  /** Whether it takes reasoning back; by default it does. */
  takesReasoning?(llm: Llm): boolean;
}

/** Clients of openhands-sdk send these with every model: only models that take them get them. */
const USUAL_EFFORT = 'high';
const USUAL_BUDGET = 200_000;
/** Tokens for reasoning where an interface takes no effort; of others: as many as it permits. */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 16_384,
};
const SMALLEST_BUDGET = 1024;

const effortOf = ({ reasoning_effort: effort }: Llm): string => effort ?? USUAL_EFFORT;

const chat: Interface = {
  name: 'model',
  open(endpoint, { apiKey, ...to }, llm) {
    const provider = createOpenAICompatible({
      name: 'model',
      ...to,
      includeUsage: true,
      ...(apiKey && { apiKey }),
      ...(llm.api_version && { queryParams: { 'api-version': llm.api_version } }),
      transformRequestBody: (body) => accepted(endpoint, llm, body),
    });
    // Some endpoints leave the reasoning in the text.
    const middleware = extractReasoningMiddleware({ tagName: 'think' });
    const model = provider.chatModel(endpoint.model);
    return Promise.resolve(wrapLanguageModel({ model, middleware }));
  },
  options(llm, model) {
    const effort = effortOf(llm);
    const takes = /(?:^|\/)(?:o\d|gpt-oss|gpt-[5-9](?!.*-chat)|gemini-(?:2\.5|[3-9]))/;
    return effort !== USUAL_EFFORT || takes.test(model) ? { reasoningEffort: effort } : {};
  },
  members: ({ top_k }) => (top_k == null ? {} : { top_k }),
};

const responses: Interface = {
  name: 'openai',
  open: async ({ model }, to) => (await import('@ai-sdk/openai')).createOpenAI(to).responses(model),
  options: (llm) => ({
    store: false,
    reasoningEffort: effortOf(llm),
    reasoningSummary: llm.reasoning_summary ?? undefined,
  }),
  takesReasoning: ({ enable_encrypted_reasoning: isWanted }) => isWanted !== false,
  members: (llm): Options => (llm.enable_encrypted_reasoning === false ? { include: [] } : {}),
  // They are strict unless they say otherwise.
  tools: (tools) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, each]) => [name, { ...each, strict: false }]),
    ),
};

const anthropic: Interface = {
  name: 'anthropic',
  async open({ model: name }, to, llm) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const model = createAnthropic(to).languageModel(name);
    if (llm.caching_prompt === false) return model;
    return wrapLanguageModel({ model, middleware: CACHE_MARKS });
  },
  options: (llm, model, messages) => ({
    toolStreaming: false,
    ...(ADAPTIVE.test(model) ? adaptiveThinking(llm) : limitedThinking(llm, model, messages)),
  }),
};

const google: Interface = {
  name: 'google',
  open: async ({ model }, to) =>
    (await import('@ai-sdk/google')).createGoogleGenerativeAI(to).languageModel(model),
  options(llm, model) {
    const effort = effortOf(llm);
    if (/gemini-(?:1|2\.0)|gemma/.test(model)) return {};
    const level = { none: 'minimal', xhigh: 'high', max: 'high' }[effort] ?? effort;
    const amount = model.includes('gemini-2')
      ? { thinkingBudget: BUDGETS[effort] ?? -1 }
      : { thinkingLevel: level };
    return { thinkingConfig: { includeThoughts: true, ...amount } };
  },
  // The signatures of its calls stand for it.
  takesReasoning: () => false,
};

export const INTERFACES: Readonly<Record<Api, Interface>> = { chat, responses, anthropic, google };

/** Models that choose the length of their reasoning. */
const ADAPTIVE = /claude-(?:(?:opus|sonnet)-4-[6-9]\b|[a-z]+-(?:[5-9]|\d\d)\b)/;

function adaptiveThinking(llm: Llm): Options {
  const effort = effortOf(llm);
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const level = effort === 'minimal' ? 'low' : effort;
  return { thinking: { type: 'adaptive', display: 'summarized' }, effort: level };
}

function limitedThinking(llm: Llm, model: string, messages: readonly ModelMessage[]): Options {
  const effort = effortOf(llm);
  const limit = llm.extended_thinking_budget ?? USUAL_BUDGET;
  const isUsual = effort === USUAL_EFFORT && limit === USUAL_BUDGET;
  if (isUsual && !/claude-(?:3-7|[a-z]+-4)/.test(model)) return {};
  const budgetTokens = Math.min(limit, BUDGETS[effort] ?? Infinity);
  if (budgetTokens < SMALLEST_BUDGET || hasUnsignedCalls(messages)) return {};
  // With this header it is the budget of all reasoning of an answer, and may exceed its limit.
  const anthropicBeta = ['interleaved-thinking-2025-05-14'];
  return { thinking: { type: 'enabled', budgetTokens }, anthropicBeta };
}

/** So is a history of another model; the endpoint requires reasoning before its calls. */
function hasUnsignedCalls(messages: readonly ModelMessage[]): boolean {
  const parts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? content : [],
  );
  const isSigned = parts.some(
    (part) => part.type === 'reasoning' && part.providerOptions?.['anthropic'],
  );
  return !isSigned && parts.some(({ type }) => type === 'tool-call');
}

const MARK = { type: 'ephemeral' };
const MARKED_INPUTS = 2;
/** OpenAI-compatible endpoints that take the marks of Anthropic. */
const TAKE_MARKS = new Set(['openrouter.ai', 'llm-proxy.app.all-hands.dev']);

/** The system prompt and the newest inputs are marked for the cache of the endpoint. */
function markedOf(messages: readonly { role: string }[]): ReadonlySet<number> {
  const inputs = messages.flatMap(({ role }, index) =>
    role === 'user' || role === 'tool' ? [index] : [],
  );
  return new Set([0, ...inputs.slice(-MARKED_INPUTS)]);
}

const CACHE_MARKS: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  transformParams({ params }) {
    const marked = markedOf(params.prompt);
    const providerOptions = { anthropic: { cacheControl: MARK } };
    const prompt = params.prompt.map((message, index) =>
      marked.has(index) ? { ...message, providerOptions } : message,
    );
    return Promise.resolve({ ...params, prompt });
  },
};

interface ChatMessage {
  role: string;
  content?: unknown;
  reasoning_content?: string;
}

function withMark(message: ChatMessage): ChatMessage {
  const { role, content } = message;
  if (role === 'tool') return { ...message, cache_control: MARK } as ChatMessage;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const [last, ...before] = [...(parts as object[])].reverse();
  return { ...message, content: [...before.reverse(), { ...last, cache_control: MARK }] };
}

// The body without what the endpoint refuses, by the rules of openhands-sdk 1.58.0: clients of
// 1.11.5 always send a temperature, top_p and a limit of tokens.
function accepted({ baseUrl, model }: Endpoint, llm: Llm, body: Record<string, unknown>) {
  const { hostname } = new URL(baseUrl);
  const isReasoning = /(?:^|\/)(?:o\d|gpt-[5-9])/.test(model);
  const omitted = new Set<string>();
  if (hostname === 'api.mistral.ai') omitted.add('stream_options');
  if (hostname === 'api.anthropic.com' && body['temperature'] != null) omitted.add('top_p');
  if (isReasoning) omitted.add('temperature').add('top_p');
  const members = Object.entries(body).filter(([name]) => !omitted.has(name));
  const { max_tokens, messages, ...rest } = Object.fromEntries(members);
  const limit =
    isReasoning || hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens';
  // Other endpoints refuse their own reasoning in the history.
  const takesReasoning = /kimi|deepseek|minimax/i.test(model);
  const shown = (messages as ChatMessage[]).map(({ reasoning_content, ...message }) =>
    takesReasoning ? { ...message, reasoning_content } : message,
  );
  const isMarked =
    llm.caching_prompt !== false && TAKE_MARKS.has(hostname) && model.includes('claude');
  const marked = isMarked ? markedOf(shown) : new Set();
  const sent = shown.map((message, index) => (marked.has(index) ? withMark(message) : message));
  return { ...rest, [limit]: max_tokens, messages: sent };
}
