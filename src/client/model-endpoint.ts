import { AppError, isFailure, isOfKind, nullIf } from '../base/errors.ts';
import type { Model } from '../domain/settings.ts';
import { ollamaContext } from '../protocol/ollama.ts';
import { isRecord, type Json } from '../protocol/shape.ts';
import { errorBy, reasonOf, type Answer } from './http/answer.ts';
import type { CallOptions } from './http/call.ts';
import type { Network } from './http/network.ts';
import { LIMITS_MS } from './http/time-limits.ts';
import type { Transport } from './http/transport.ts';

const MOST_NAMED = 20;
const QUESTION = 'Reply with OK.';
const TOOL = { name: 'finish', description: 'Ends the task.' };
const NO_PARAMETERS = { type: 'object', properties: {} };
const MESSAGES = [{ role: 'user', content: QUESTION }];

export type ModelInterface = 'chat' | 'responses' | 'anthropic' | 'google';

interface Interface {
  title: string;
  headers(key: string): Record<string, string>;
  list: string;
  path(model: string): string;
  /** Each is sent when the endpoint has refused the one before. */
  bodies(model: string): Json[];
  /** A list that an answer has. */
  answer: string;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const FUNCTION = { type: 'function', function: { ...TOOL, parameters: NO_PARAMETERS } };

const INTERFACES: Readonly<Record<ModelInterface, Interface>> = {
  chat: {
    title: 'OpenAI-compatible',
    headers: bearer,
    list: '/models',
    path: () => '/chat/completions',
    // Reasoning models refuse `max_tokens`, and a limit that ends their reasoning.
    bodies: (model) =>
      [{ max_tokens: 1 }, { max_completion_tokens: 1000 }].map((limit) => ({
        ...{ model, messages: MESSAGES, tools: [FUNCTION] },
        ...limit,
      })),
    answer: 'choices',
  },
  responses: {
    title: 'Responses',
    headers: bearer,
    list: '/models',
    path: () => '/responses',
    bodies(model) {
      const tools = [{ type: 'function', ...TOOL, parameters: NO_PARAMETERS, strict: false }];
      return [{ model, input: QUESTION, tools, max_output_tokens: 16, store: false }];
    },
    answer: 'output',
  },
  anthropic: {
    title: 'Anthropic',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    list: '/models?limit=1000',
    path: () => '/messages',
    bodies(model) {
      const tools = [{ ...TOOL, input_schema: NO_PARAMETERS }];
      return [{ model, messages: MESSAGES, tools, max_tokens: 1 }];
    },
    answer: 'content',
  },
  google: {
    title: 'Gemini',
    headers: (key) => ({ 'x-goog-api-key': key }),
    list: '/models?pageSize=1000',
    path: (model) => `/models/${model}:generateContent`,
    bodies: () => [
      {
        contents: [{ role: 'user', parts: [{ text: QUESTION }] }],
        tools: [{ functionDeclarations: [TOOL] }],
        generationConfig: { maxOutputTokens: 1 },
      },
    ],
    answer: 'candidates',
  },
};

export class ModelEndpoint {
  readonly #app: Transport;
  readonly #network: Network;
  readonly #key: string | null;
  readonly #interface: Interface;

  constructor(app: Transport, network: Network, key: string | null, api: ModelInterface) {
    this.#app = app;
    this.#network = network;
    this.#key = key;
    this.#interface = INTERFACES[api];
  }

  close(): Promise<void> {
    return Promise.resolve(this.#network.close());
  }

  async models(): Promise<string[] | null> {
    return (await this.list())?.map(({ id }) => id) ?? null;
  }

  /** Null without a list. Throws `network`, `auth` for the key, `server` for HTML. */
  async list(): Promise<Model[] | null> {
    const { list: path } = this.#interface;
    const answer = await this.#request({ path, timeoutMs: LIMITS_MS.probe });
    const { status, body, contentType } = answer;
    if (contentType === 'text/html') throw this.#noInterface(answer);
    const items = isRecord(body) ? (body['data'] ?? body['models']) : null;
    if (status !== 200 || !Array.isArray(items)) return null;
    return items.flatMap((item: unknown) => (isRecord(item) ? readModel(item) : []));
  }

  /** Of Ollama at this URL, in tokens. Null: another endpoint, or not known. */
  async ollamaContext(model: string): Promise<number | null> {
    const show = { method: 'POST', path: '/api/show', body: { model } } as const;
    const calls = [{ path: '/api/ps' }, show].map((call) =>
      this.#request({ ...call, timeoutMs: LIMITS_MS.probe }).catch(nullIf(isFailure)),
    );
    const [ps, shown] = await Promise.all(calls);
    return ollamaContext(ps?.body, shown?.body, model);
  }

  /**
   * One completion with a tool. Throws `network` for the URL, `auth` for the key, `not-found` and
   * `usage` for the model, `server` for another interface.
   */
  async complete(model: string, timeoutMs: number = LIMITS_MS.model): Promise<void> {
    const { path, bodies, answer: member } = this.#interface;
    const post = (body: Json) =>
      this.#request({ method: 'POST', path: path(model), body, timeoutMs });
    const [first = {}, ...others] = bodies(model);
    let answer = await post(first);
    for (const body of others) if (answer.status === 400) answer = await post(body);
    const { status, body, contentType, bytes } = answer;
    // Some endpoints stream each answer; an error may be streamed too.
    const isAnswer =
      contentType === 'text/event-stream'
        ? Buffer.from(bytes).includes(`"${member}"`)
        : isRecord(body) && Array.isArray(body[member]);
    if (status < 300 && isAnswer) return;
    throw await this.#refusal(answer, model);
  }

  async #refusal(answer: Answer, model: string): Promise<AppError> {
    const { status } = answer;
    if (status < 300 || status === 405) return this.#noInterface(answer);
    const result = `answered ${status} for "${model}": ${reasonOf(answer)}`;
    const message = `llm_model: ${this.#app.baseUrl} ${result}`;
    if (![400, 404, 422].includes(status))
      return errorBy(answer, answer.error?.kind ?? 'server', message, { hint: hintOf(status) });
    const models = await this.models();
    if (status === 404 && models === null) return this.#noInterface(answer);
    const isListed = models === null || models.includes(model);
    const kind = status === 404 || !isListed ? 'not-found' : 'usage';
    return errorBy(answer, kind, message, { hint: isListed ? hintOf(status) : listOf(models) });
  }

  #noInterface(answer: Answer): AppError {
    const { baseUrl } = this.#app;
    const what = `${answer.status}, ${answer.contentType || 'without a content type'}`;
    const lack = `has no ${this.#interface.title} interface (it answered ${what})`;
    // The path of most endpoints has a version, as `/v1` and `/v1beta/openai` do.
    const hint = /\/v\d/.test(baseUrl) ? 'check the URL' : 'most of these URLs end with /v1';
    return errorBy(answer, 'server', `llm_base_url: ${baseUrl} ${lack}`, { hint });
  }

  async #request(call: CallOptions): Promise<Answer> {
    // It changes nothing, so a dry run sends it too.
    const headers = this.#key === null ? {} : this.#interface.headers(this.#key);
    const options = { safe: 'read', expect: 'any', accept: [429], headers } as const;
    const answer = await this.#app.request({ ...call, ...options }).catch((error: unknown) => {
      if (!isOfKind('network')(error)) throw error;
      const message = `llm_base_url: ${error.message}`;
      throw new AppError('network', message, { ...error.details, cause: error });
    });
    // Google answers a wrong key with 400.
    const isRefused =
      [401, 403].includes(answer.status) || /API key not valid/.test(reasonOf(answer));
    if (!isRefused) return answer;
    const what = this.#key === null ? 'requires a key' : 'refuses the key';
    const message = `llm_api_key: ${this.#app.baseUrl} ${what}: ${reasonOf(answer)}`;
    throw errorBy(answer, 'auth', message, {
      hint: 'give the key: acs settings set llm_api_key=-',
    });
  }
}

/** Members of vLLM, Groq, Mistral, OpenRouter (with prices for a token), Anthropic and Google. */
function readModel({ name, id = name, pricing, ...item }: Json): Model[] {
  if (typeof id !== 'string') return [];
  const names = ['max_model_len', 'context_window', 'max_context_length', 'context_length'].concat(
    ...['max_input_tokens', 'inputTokenLimit'],
  );
  const context = names.map((name) => item[name]).find((value) => typeof value === 'number');
  const { prompt, completion } = isRecord(pricing) ? pricing : {};
  return [
    {
      id: id.replace(/^models\//, ''),
      kind: 'model',
      context: context ?? null,
      input_price: priceOf(prompt),
      output_price: priceOf(completion),
    },
  ];
}

/** Null too for a negative one, which stands for that of another model. */
function priceOf(token: unknown): number | null {
  const price = typeof token === 'string' && token !== '' ? Number(token) : -1;
  return price >= 0 ? Number((price * 1e6).toPrecision(6)) : null;
}

function listOf(models: readonly string[]): string {
  const more = models.length > MOST_NAMED ? ` and ${models.length - MOST_NAMED} more` : '';
  return models.length === 0
    ? 'it lists no model'
    : `it lists ${models.slice(0, MOST_NAMED).join(', ')}${more}`;
}

function hintOf(status: number): string {
  if (status === 429) return 'try again later: the rate limit or the quota of the key is reached';
  if (status === 402) return 'the account of the key has no credit: see it at the provider';
  if (status >= 500) return 'try again later, or see the log of the endpoint';
  return 'use another model: an agent needs one that supports tools';
}
