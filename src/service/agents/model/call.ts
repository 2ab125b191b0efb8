import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type LanguageModelMiddleware,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
  type TypedToolCall,
  wrapLanguageModel,
} from 'ai';
import { cut, wellFormed } from '../../../base/text/well-formed.ts';
import type { Llm } from '../../../protocol/agent-server/requests.ts';
import type { Situation } from '../agent.ts';
import type { ModelUsage, Reasoning } from '../../base/steps.ts';
import { costOf, pricesOf } from '../../base/known-models.ts';
import { type Endpoint, endpointHint, endpointOf } from '../../base/model-endpoint.ts';
import { ModelFailure, toModelFailure } from './failure.ts';
import { fetchAnswer } from './fetch.ts';
import { INTERFACES } from './interfaces.ts';
import { ReasoningReader } from './reasoning.ts';
import { inText } from './tools-in-text.ts';

/** Of settings that have none of these. */
const RETRIES = { num_retries: 4, retry_multiplier: 1, retry_min_wait: 1, retry_max_wait: 64 };
const TIMEOUT_SECONDS = 300;
/** A longer `Retry-After` ends the run: no event would report the wait. */
const LONGEST_WAIT_MS = 120_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LONGEST_ANSWER = 1024 * 1024;
const LONGEST_REFUSAL = 500;
const TOO_LONG =
  'The answer of the model is longer than 1 MiB. Use another model, or set ' +
  'agent_settings.llm.max_output_tokens.';

/** `input`: a text where the model wrote no JSON. */
export interface ToolCall {
  name: string;
  input: unknown;
  signature: string | null;
  /** What came before it in the answer. */
  reasoning: Reasoning;
}

export interface ModelAnswer {
  text: string;
  /** What came after the last call. */
  reasoning: Reasoning;
  calls: ToolCall[];
  /** At the limit of tokens; `calls` has only complete calls. */
  isCutOff: boolean;
  usage: ModelUsage;
}

export interface ModelRequest {
  system: string;
  messages: ModelMessage[];
  tools: ToolSet;
  onText: Situation['onText'];
}

/** In bounded time. Throws ModelFailure, and the reason of the signal when it is aborted. */
export async function callModel(
  llm: Llm,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const retries: typeof RETRIES = { ...RETRIES, ...definedOf(llm) };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await callOnce(llm, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const retry = error instanceof ModelFailure ? error.retry : null;
      const { num_retries, retry_multiplier, retry_min_wait, retry_max_wait } = retries;
      const growing = Math.min(retry_multiplier * 2 ** attempt, retry_max_wait);
      const waitMs = retry?.afterMs ?? Math.max(growing, retry_min_wait) * 1000;
      if (retry === null || attempt >= num_retries || waitMs > LONGEST_WAIT_MS) throw error;
      await delay(waitMs, undefined, { signal });
    }
  }
}

/** As callModel, for an answer of text alone. */
export async function askForText(
  llm: Llm,
  request: Omit<ModelRequest, 'onText'>,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const answer = await callModel(llm, { ...request, onText: null }, signal);
  if (answer.text.trim() !== '' && !answer.isCutOff) return answer;
  const what = answer.isCutOff ? 'was cut off at its limit of tokens' : 'gave an empty answer';
  const detail = `The model ${llm.model ?? ''} ${what}. Use another model.`;
  throw new ModelFailure('LLMNoResponseError', detail);
}

function endpointToCall(llm: Llm): Endpoint {
  const endpoint = endpointOf(llm);
  if (endpoint === null) {
    const { model } = llm;
    const why = model
      ? `The URL of the model ${model} is not known`
      : 'The conversation has no model';
    const next = 'Set both: acs settings set llm_model=<model> llm_base_url=<url>.';
    throw new ModelFailure('NoModel', `${why}. ${endpointHint(model ?? '') ?? next}`);
  }
  if (/^https?:\/\/[^/]*@/i.test(endpoint.baseUrl)) {
    const detail =
      'llm_base_url has a user name or a password. Remove it: a key is set as llm_api_key.';
    throw new ModelFailure('LLMBadRequestError', detail);
  }
  return endpoint;
}

async function callOnce(
  llm: Llm,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const endpoint = endpointToCall(llm);
  const timeoutMs = Math.min((llm.timeout || TIMEOUT_SECONDS) * 1000, LONGEST_TIMER_MS);
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), timeoutMs);
  try {
    request.onText?.('', 'beginning');
    const result = await startAnswer(llm, endpoint, request, AbortSignal.any([signal, end.signal]));
    const answer = await readAnswer(result.fullStream, request.onText, () => timer.refresh());
    // These getters create promises, whose rejection would be unhandled after a failure above.
    const [usage, reason, rawReason] = await Promise.all([
      result.usage,
      result.finishReason,
      result.rawFinishReason,
    ]);
    if (reason === 'other' && rawReason === undefined) throw new Error('it has no finish reason');
    const isCutOff = reason === 'length';
    // Arguments that are no JSON may end at the limit: repaired, half a command would be executed.
    const calls = answer.calls.filter(({ input }) => !isCutOff || typeof input !== 'string');
    if (reason === 'content-filter' && calls.length === 0)
      throw modelRefusal(endpoint, rawReason ?? 'refusal', answer.text);
    return { ...answer, calls, isCutOff, usage: await usageOf(llm, usage) };
  } catch (error) {
    signal.throwIfAborted();
    if (end.signal.aborted) {
      const waited = `${endpoint.baseUrl} sent nothing for ${String(timeoutMs / 1000)} s`;
      const detail = `${waited}. Check the endpoint, or raise agent_settings.llm.timeout.`;
      throw new ModelFailure('LLMTimeoutError', detail);
    }
    throw toModelFailure(error, endpoint);
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

function modelRefusal({ model }: Endpoint, reason: string, text: string): ModelFailure {
  const said = cut(text.trim(), LONGEST_REFUSAL);
  const what = `The model ${model} refused to answer (${reason})${said && `: ${said}`}`;
  const detail = `${what.replace(/\.$/, '')}. Send the task in other words, or use another model.`;
  return new ModelFailure('LLMNoResponseError', detail);
}

/** The endpoint loads images, not the worker. */
const IMAGES_BY_URL: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  overrideSupportedUrls: () => ({ 'image/*': [/^https?:/] }),
};

async function startAnswer(
  llm: Llm,
  endpoint: Endpoint,
  request: ModelRequest,
  abortSignal: AbortSignal,
) {
  // Settings that an interface does not have would be printed with each call.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const own = INTERFACES[endpoint.api];
  const { system, messages, tools } = llm.native_tool_calling === false ? inText(request) : request;
  const members = { ...own.members?.(llm), ...llm.litellm_extra_body };
  const hasOwnTimeout = (llm.timeout ?? 0) > TIMEOUT_SECONDS;
  const to = {
    baseURL: endpoint.baseUrl,
    apiKey: llm.api_key ?? '',
    headers: llm.extra_headers ?? {},
    fetch: (input: Parameters<typeof fetch>[0], init: Parameters<typeof fetch>[1]) =>
      fetchAnswer(input, init, { hasOwnTimeout, members }),
  };
  const model = await own.open(endpoint, to, llm);
  const sent = own.takesReasoning?.(llm) === false ? messages.map(withoutReasoning) : messages;
  return streamText({
    model: wrapLanguageModel({ model, middleware: IMAGES_BY_URL }),
    system,
    messages: sent,
    tools: own.tools?.(tools) ?? tools,
    maxRetries: 0,
    abortSignal,
    onError: () => undefined,
    providerOptions: { [own.name]: own.options(llm, endpoint.model, sent) },
    ...definedOf({
      temperature: llm.temperature,
      topP: llm.top_p,
      topK: llm.top_k,
      seed: llm.seed,
      maxOutputTokens: llm.max_output_tokens,
    }),
  });
}

function definedOf<Members extends object>(members: Members) {
  const defined = Object.entries(members).filter(([, value]) => value != null);
  return Object.fromEntries(defined) as { [Name in keyof Members]?: NonNullable<Members[Name]> };
}

function withoutReasoning(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  return { ...message, content: message.content.filter(({ type }) => type !== 'reasoning') };
}

async function readAnswer(
  parts: AsyncIterable<TextStreamPart<ToolSet>>,
  onText: ModelRequest['onText'],
  onPart: () => void,
): Promise<Pick<ModelAnswer, 'text' | 'reasoning' | 'calls'>> {
  const answer = { text: '', calls: [] as ToolCall[] };
  const reasoning = new ReasoningReader();
  let length = 0;
  for await (const part of parts) {
    onPart();
    const { text = '', delta = '' } = part as { text?: string; delta?: string };
    length += text.length + delta.length;
    reasoning.read(part);
    if (length > LONGEST_ANSWER) throw new ModelFailure('LLMBadResponseError', TOO_LONG);
    switch (part.type) {
      case 'text-delta':
        answer.text += part.text;
        onText?.(part.text);
        break;
      case 'tool-call':
        answer.calls.push(toolCallOf(part, reasoning.take()));
        break;
      case 'error':
        throw part.error;
      case 'abort':
        throw new Error('the call was aborted');
      default:
    }
  }
  onText?.('', 'end');
  return { ...answer, text: wellFormed(answer.text), reasoning: reasoning.take() };
}

function toolCallOf(part: TypedToolCall<ToolSet>, reasoning: Reasoning): ToolCall {
  const { model, google } = part.providerMetadata ?? {};
  const signature = (google ?? model)?.['thoughtSignature'];
  return {
    name: part.toolName,
    input: part.input,
    signature: typeof signature === 'string' ? signature : null,
    reasoning,
  };
}

async function usageOf(llm: Llm, usage: LanguageModelUsage): Promise<ModelUsage> {
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage.inputTokenDetails;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const counts = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    cache_read_tokens: cacheReadTokens,
    cache_write_tokens: cacheWriteTokens,
    reasoning_tokens: usage.outputTokenDetails.reasoningTokens ?? 0,
  };
  const isKnown = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
  return {
    ...counts,
    cost: isKnown ? costOf(await pricesOf(llm), counts) : null,
    // The id of ollama is a random number below 1000.
    response_id: randomUUID(),
  };
}
