/** One call of the model: an answer, or the reason why there is none, within bounded time. */
import { setTimeout as delay } from 'node:timers/promises';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, type ModelMessage, streamText, type ToolSet } from 'ai';
import type { Llm } from '../../../protocol/agent-server/requests.ts';
import type { ModelUsage } from '../steps.ts';
import { endpointOf } from './config.ts';

const RETRIES = 4;
const TIMEOUT_SECONDS = 300;
const FIRST_WAIT_MS = 1000;
/** A longer `Retry-After` ends the run: the wait would be reported by nothing. */
const LONGEST_WAIT_MS = 120_000;

/** `input` is not a record when the model wrote no JSON object; `error`: an unknown tool, or no JSON. */
export interface ToolCall {
  id: string;
  name: string;
  input: unknown;
  error: string | null;
}

export interface ModelAnswer {
  responseId: string;
  text: string;
  reasoning: string;
  calls: ToolCall[];
  usage: ModelUsage;
}

/** `code` as in the ConversationErrorEvent of genuine servers; `message` says what to do. */
export class ModelFailure extends Error {
  readonly code: string;
  readonly retryAfterMs: number | null;
  readonly isPassing: boolean;

  constructor(code: string, message: string, passing: { retryAfterMs: number | null } | null = null) {
    super(message);
    this.code = code;
    this.isPassing = passing !== null;
    this.retryAfterMs = passing?.retryAfterMs ?? null;
  }
}

export interface ModelRequest {
  system: string;
  messages: ModelMessage[];
  tools: ToolSet;
  onText: ((text: string) => void) | null;
}

/** Throws ModelFailure, and the reason of the signal when it is aborted. */
export async function callModel(llm: Llm, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await callOnce(llm, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelFailure) || !error.isPassing || attempt >= (llm.num_retries ?? RETRIES)) throw error;
      const waitMs = error.retryAfterMs ?? FIRST_WAIT_MS * 2 ** attempt;
      if (waitMs > LONGEST_WAIT_MS) throw error;
      await delay(waitMs, undefined, { signal });
    }
  }
}

async function callOnce(llm: Llm, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
  const endpoint = endpointOf(llm);
  if (endpoint === null) {
    const named = llm.model ? `It is not known where the model ${llm.model} is` : 'The conversation has no model';
    throw new ModelFailure('NoModel', `${named}. Set both: acs settings set llm_model=<model> llm_base_url=<url>.`);
  }
  const timeoutMs = (llm.timeout ?? TIMEOUT_SECONDS) * 1000;
  const silence = new AbortController();
  const timer = setTimeout(() => {
    silence.abort();
  }, timeoutMs);
  const provider = createOpenAICompatible({
    name: 'model',
    baseURL: endpoint.baseUrl,
    includeUsage: true,
    // The endpoint loads images, not the worker.
    supportedUrls: () => ({ 'image/*': [/^https?:/] }),
    ...(llm.api_key ? { apiKey: llm.api_key } : {}),
    ...(llm.extra_headers ? { headers: llm.extra_headers } : {}),
    fetch: async (...given) => {
      const answer = await fetch(...given);
      if (answer.ok && /^text\/html/i.test(answer.headers.get('content-type') ?? '')) {
        const detail = `${endpoint.baseUrl} answered with a web page. Correct llm_base_url: most end with /v1.`;
        throw new ModelFailure('LLMBadResponseError', detail);
      }
      return answer;
    },
  });
  const { system, messages, tools, onText } = request;
  const result = streamText({
    model: provider.chatModel(endpoint.model),
    system,
    messages,
    tools,
    maxRetries: 0,
    abortSignal: AbortSignal.any([signal, silence.signal]),
    // Read below, from the stream.
    onError: () => undefined,
    ...(llm.temperature == null ? {} : { temperature: llm.temperature }),
    ...(llm.top_p == null ? {} : { topP: llm.top_p }),
    ...(llm.max_output_tokens == null ? {} : { maxOutputTokens: llm.max_output_tokens }),
  });
  const answer = { text: '', reasoning: '', calls: [] as ToolCall[] };
  try {
    for await (const part of result.fullStream) {
      timer.refresh();
      if (part.type === 'text-delta') {
        answer.text += part.text;
        onText?.(part.text);
      } else if (part.type === 'reasoning-delta') answer.reasoning += part.text;
      else if (part.type === 'tool-call') {
        const error = part.invalid ? (part.error as Error).message : null;
        answer.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input, error });
      } else if (part.type === 'error') throw part.error;
      else if (part.type === 'abort') throw new Error('the call was aborted');
    }
    const [{ id }, usage] = await Promise.all([result.response, result.usage]);
    if (answer.calls.length === 0 && answer.text.trim() === '') {
      const detail = `The model ${endpoint.model} gave an empty answer. Use another model, or a longer context.`;
      throw new ModelFailure('LLMNoResponseError', detail, { retryAfterMs: null });
    }
    const { noCacheTokens: _plain, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage.inputTokenDetails;
    const { inputTokens = 0, outputTokens = 0 } = usage;
    const { input_cost_per_token: input, output_cost_per_token: output } = llm;
    return {
      ...answer,
      responseId: id,
      usage: {
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
        cache_read_tokens: cacheReadTokens,
        cache_write_tokens: cacheWriteTokens,
        reasoning_tokens: usage.outputTokenDetails.reasoningTokens ?? 0,
        cost: input == null || output == null ? null : inputTokens * input + outputTokens * output,
        response_id: id,
      },
    };
  } catch (error) {
    signal.throwIfAborted();
    if (silence.signal.aborted) {
      const detail = `${endpoint.baseUrl} sent nothing for ${String(timeoutMs / 1000)} s. Check the endpoint, or raise llm_timeout.`;
      throw new ModelFailure('LLMTimeoutError', detail);
    }
    throw failureOf(error, endpoint);
  } finally {
    clearTimeout(timer);
  }
}

type Endpoint = NonNullable<ReturnType<typeof endpointOf>>;

function failureOf(error: unknown, { baseUrl, model }: Endpoint): ModelFailure {
  const causes = [error, (error as Error).cause, ((error as Error).cause as Error | undefined)?.cause];
  const own = causes.find((each) => each instanceof ModelFailure);
  if (own) return own;
  const { message } = error as Error;
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  if (!APICallError.isInstance(error) || status === undefined) {
    const code = causes
      .map((each) => (each as NodeJS.ErrnoException | undefined)?.code)
      .find((each) => each !== undefined);
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') {
      const what = code === 'ENOTFOUND' ? 'There is no such host' : 'Nothing listens there';
      return new ModelFailure(
        'LLMServiceUnavailableError',
        `Cannot reach the model at ${baseUrl}: ${what}. Start it, or correct llm_base_url.`,
      );
    }
    const detail = `The answer of ${baseUrl} was cut off: ${message}. Continue with a message: acs conv send.`;
    return new ModelFailure('LLMServiceUnavailableError', detail, { retryAfterMs: null });
  }
  const said = message.slice(0, 500);
  const at = `${baseUrl} answered with HTTP ${String(status)}: ${said}`;
  if (status === 401 || status === 403) {
    return new ModelFailure('LLMAuthenticationError', `${at}. Set another key: acs settings set llm_api_key=-`);
  }
  if (status === 404) {
    return new ModelFailure('LLMNotFoundError', `${at}. Correct llm_base_url, or the model ${model}.`);
  }
  if (status === 413 || (status === 400 && isOverflow(`${message} ${error.responseBody ?? ''}`))) {
    return new ModelFailure('LLMContextWindowExceedError', `${at}. The conversation is too long for ${model}.`);
  }
  const passing = { retryAfterMs: retryAfterMs(error.responseHeaders ?? {}) };
  if (status === 429) {
    return new ModelFailure('LLMRateLimitError', `${at}. Continue later with a message: acs conv send.`, passing);
  }
  if (status === 408 || status >= 500) {
    return new ModelFailure(
      'LLMServiceUnavailableError',
      `${at}. Continue later with a message: acs conv send.`,
      passing,
    );
  }
  return new ModelFailure('LLMBadRequestError', `${at}. Check the settings of the model.`);
}

/** OpenAI has a code for it; vLLM, llama.cpp, ollama and others have words alone. */
function isOverflow(text: string): boolean {
  return /context_length_exceeded|context (?:length|window|size)|maximum context|too many tokens|prompt is too long/i.test(
    text,
  );
}

function retryAfterMs(headers: Record<string, string>): number | null {
  const given = headers['retry-after'];
  if (given === undefined) return null;
  const seconds = Number(given);
  const ms = Number.isNaN(seconds) ? Date.parse(given) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
