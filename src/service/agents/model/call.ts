import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type FinishReason,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
  type TypedToolCall,
} from 'ai';
import { wellFormed } from '../../../base/text/well-formed.ts';
import type { Llm } from '../../../protocol/agent-server/requests.ts';
import type { Situation } from '../agent.ts';
import type { ModelUsage } from '../../base/steps.ts';
import { endpointOf } from '../../base/model-config.ts';
import { ModelFailure, toModelFailure } from './failure.ts';
import { fetchAnswer } from './fetch.ts';

const RETRIES = 4;
const TIMEOUT_SECONDS = 300;
const FIRST_WAIT_MS = 1000;
/** A longer `Retry-After` ends the run: no event would report the wait. */
const LONGEST_WAIT_MS = 120_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LONGEST_ANSWER = 1024 * 1024;
const TOO_LONG =
  'is longer than 1 MiB. Use another model, or set agent_settings.llm.max_output_tokens.';
const CUT_OFF =
  'was cut off at its limit of tokens. Raise agent_settings.llm.max_output_tokens, or the ' +
  'context of the endpoint.';

/** `input`: a text where the model wrote no JSON object. `error`: an unknown tool, or no JSON. */
export interface ToolCall {
  name: string;
  input: unknown;
  error: string | null;
  signature: string | null;
}

export interface ModelAnswer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
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
  const retries = llm.num_retries ?? RETRIES;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await callOnce(llm, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const retry = error instanceof ModelFailure ? error.retry : null;
      const waitMs = retry?.afterMs ?? FIRST_WAIT_MS * 2 ** attempt;
      if (retry === null || attempt >= retries || waitMs > LONGEST_WAIT_MS) throw error;
      await delay(waitMs, undefined, { signal });
    }
  }
}

async function callOnce(
  llm: Llm,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const endpoint = endpointOf(llm);
  if (endpoint === null) {
    const why = llm.model
      ? `The URL of the model ${llm.model} is not known`
      : 'The conversation has no model';
    const next = 'Set both: acs settings set llm_model=<model> llm_base_url=<url>.';
    throw new ModelFailure('NoModel', `${why}. ${next}`);
  }
  if (/^https?:\/\/[^/]*@/i.test(endpoint.baseUrl)) {
    const detail =
      'llm_base_url has a user name or a password. Remove it: a key is set as llm_api_key.';
    throw new ModelFailure('LLMBadRequestError', detail);
  }
  const timeoutMs = Math.min((llm.timeout || TIMEOUT_SECONDS) * 1000, LONGEST_TIMER_MS);
  const end = new AbortController();
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    end.abort();
  }, timeoutMs);
  try {
    const result = startAnswer(llm, endpoint, request, AbortSignal.any([signal, end.signal]));
    const answer = await readAnswer(result.fullStream, request.onText, () => timer.refresh());
    // These getters create promises, whose rejection would be unhandled after a failure above.
    const [usage, finishReason] = await Promise.all([result.usage, result.finishReason]);
    // Calls before the limit of tokens are complete.
    if (answer.calls.length === 0) assertText(answer.text, finishReason, endpoint.model);
    return { ...answer, usage: usageOf(llm, usage) };
  } catch (error) {
    signal.throwIfAborted();
    if (isSilent) {
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

function startAnswer(
  llm: Llm,
  endpoint: { baseUrl: string; model: string },
  { system, messages, tools }: ModelRequest,
  abortSignal: AbortSignal,
) {
  const provider = createOpenAICompatible({
    name: 'model',
    baseURL: endpoint.baseUrl,
    includeUsage: true,
    // The endpoint loads images, not the worker.
    supportedUrls: () => ({ 'image/*': [/^https?:/] }),
    ...(llm.api_key ? { apiKey: llm.api_key } : {}),
    ...(llm.extra_headers ? { headers: llm.extra_headers } : {}),
    transformRequestBody: (body) => accepted(endpoint, body),
    fetch: (input, init) => fetchAnswer(input, init, (llm.timeout ?? 0) > TIMEOUT_SECONDS),
  });
  return streamText({
    model: provider.chatModel(endpoint.model),
    system,
    messages,
    tools,
    maxRetries: 0,
    abortSignal,
    onError: () => undefined,
    ...(llm.temperature == null ? {} : { temperature: llm.temperature }),
    ...(llm.top_p == null ? {} : { topP: llm.top_p }),
    ...(llm.max_output_tokens == null ? {} : { maxOutputTokens: llm.max_output_tokens }),
  });
}

/**
 * The body without what the endpoint refuses, by the rules of openhands-sdk 1.58.0: clients of
 * 1.11.5 always send a temperature, top_p and a limit of tokens.
 */
function accepted(
  { baseUrl, model }: { baseUrl: string; model: string },
  body: Record<string, unknown>,
) {
  const { hostname } = new URL(baseUrl);
  const isReasoning = /(?:^|\/)(?:o\d|gpt-5)/.test(model);
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
  const shown = (messages as Record<string, unknown>[]).map(({ reasoning_content, ...message }) =>
    takesReasoning ? { ...message, reasoning_content } : message,
  );
  return { ...rest, [limit]: max_tokens, messages: shown };
}

async function readAnswer(
  parts: AsyncIterable<TextStreamPart<ToolSet>>,
  onText: ModelRequest['onText'],
  onPart: () => void,
): Promise<Pick<ModelAnswer, 'text' | 'reasoning' | 'calls'>> {
  const answer = { text: '', reasoning: '', calls: [] as ToolCall[] };
  let length = 0;
  for await (const part of parts) {
    onPart();
    const { text = '', delta = '' } = part as { text?: string; delta?: string };
    length += text.length + delta.length;
    if (length > LONGEST_ANSWER) throw limitFailure(TOO_LONG);
    switch (part.type) {
      case 'text-delta':
        answer.text += part.text;
        onText?.(part.text);
        break;
      case 'reasoning-delta':
        answer.reasoning += part.text;
        break;
      case 'tool-call':
        answer.calls.push(toolCallOf(part));
        break;
      case 'error':
        throw part.error;
      case 'abort':
        throw new Error('the call was aborted');
      default:
    }
  }
  onText?.('', true);
  return { ...answer, text: wellFormed(answer.text) };
}

function toolCallOf(part: TypedToolCall<ToolSet>): ToolCall {
  const signature = part.providerMetadata?.['model']?.['thoughtSignature'];
  return {
    name: part.toolName,
    input: part.input,
    error: part.invalid ? (part.error as Error).message : null,
    signature: typeof signature === 'string' ? signature : null,
  };
}

function assertText(text: string, finishReason: FinishReason, model: string): void {
  if (finishReason === 'length') throw limitFailure(CUT_OFF);
  if (text.trim() !== '') return;
  const detail = `The model ${model} gave an empty answer. Use another model.`;
  throw new ModelFailure('LLMNoResponseError', detail, { afterMs: null });
}

function limitFailure(why: string): ModelFailure {
  return new ModelFailure('LLMBadResponseError', `The answer of the model ${why}`);
}

function usageOf(llm: Llm, usage: LanguageModelUsage): ModelUsage {
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage.inputTokenDetails;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const { input_cost_per_token: input, output_cost_per_token: output } = llm;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    cache_read_tokens: cacheReadTokens,
    cache_write_tokens: cacheWriteTokens,
    reasoning_tokens: usage.outputTokenDetails.reasoningTokens ?? 0,
    cost: input == null || output == null ? null : inputTokens * input + outputTokens * output,
    // The id of ollama is a random number below 1000.
    response_id: randomUUID(),
  };
}
