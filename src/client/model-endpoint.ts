import { AppError, isAppError } from '../base/errors.ts';
import { isRecord } from '../protocol/shape.ts';
import { errorBy, reasonOf, type Answer } from './http/answer.ts';
import type { CallOptions } from './http/call.ts';
import type { Network } from './http/network.ts';
import { LIMITS_MS } from './http/time-limits.ts';
import type { Transport } from './http/transport.ts';

const MOST_NAMED = 20;
const TOOL = {
  type: 'function',
  function: {
    name: 'finish',
    description: 'Ends the task.',
    parameters: { type: 'object', properties: {} },
  },
};

export class ModelEndpoint {
  readonly #app: Transport;
  readonly #network: Network;
  readonly #key: string | null;

  constructor(app: Transport, network: Network, key: string | null) {
    this.#app = app;
    this.#network = network;
    this.#key = key;
  }

  close(): Promise<void> {
    return Promise.resolve(this.#network.close());
  }

  /**
   * Null where the endpoint has no list. Throws `network`, `auth` for the key, `server` for HTML.
   */
  async models(): Promise<string[] | null> {
    const answer = await this.#request({ path: '/models', timeoutMs: LIMITS_MS.probe });
    const { status, body, contentType } = answer;
    if (contentType === 'text/html') throw this.#noInterface(answer);
    if (status !== 200 || !isRecord(body) || !Array.isArray(body['data'])) return null;
    const ids = body['data'].map((item: unknown) => (isRecord(item) ? item['id'] : null));
    return ids.filter((id) => typeof id === 'string');
  }

  /**
   * One completion with a tool. Throws `network` for the URL, `auth` for the key, `not-found` and
   * `usage` for the model, `server` for another interface.
   */
  async complete(model: string, timeoutMs: number = LIMITS_MS.model): Promise<void> {
    const messages = [{ role: 'user', content: 'Reply with OK.' }];
    const post = (limit: Record<string, number>) => {
      const body = { model, messages, tools: [TOOL], ...limit };
      return this.#request({ method: 'POST', path: '/chat/completions', body, timeoutMs });
    };
    let answer = await post({ max_tokens: 1 });
    // Reasoning models refuse `max_tokens`, and a limit that ends their reasoning.
    if (answer.status === 400) answer = await post({ max_completion_tokens: 1000 });
    const { status, body } = answer;
    if (status < 300 && isRecord(body) && Array.isArray(body['choices'])) return;
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
    const lack = `has no OpenAI-compatible interface (it answered ${what})`;
    // The path of most endpoints has a version, as `/v1` and `/v1beta/openai` do.
    const hint = /\/v\d/.test(baseUrl) ? 'check the URL' : 'most of these URLs end with /v1';
    return errorBy(answer, 'server', `llm_base_url: ${baseUrl} ${lack}`, { hint });
  }

  async #request(call: CallOptions): Promise<Answer> {
    // It changes nothing, so a dry run sends it too.
    const options = { safe: 'read', expect: 'any', accept: [429] } as const;
    const answer = await this.#app.request({ ...call, ...options }).catch((error: unknown) => {
      if (!isAppError(error) || error.kind !== 'network') throw error;
      const message = `llm_base_url: ${error.message}`;
      throw new AppError('network', message, { ...error.details, cause: error });
    });
    if (![401, 403].includes(answer.status)) return answer;
    const what = this.#key === null ? 'requires a key' : 'refuses the key';
    const message = `llm_api_key: ${this.#app.baseUrl} ${what}: ${reasonOf(answer)}`;
    throw errorBy(answer, 'auth', message, {
      hint: 'give the key: acs settings set llm_api_key=-',
    });
  }
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
