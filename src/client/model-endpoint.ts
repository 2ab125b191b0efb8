/** An OpenAI-compatible endpoint, called to see whether its URL, key and model work. */
import { AppError, isAppError } from '../cli/errors.ts';
import { isRecord } from '../protocol/shape.ts';
import { reasonOf, type Answer } from './http/answer.ts';
import type { Call } from './http/call.ts';
import type { Network } from './http/network.ts';
import { LIMITS_MS } from './http/time-limits.ts';
import type { Transport } from './http/transport.ts';

const MOST_NAMED = 20;

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

  /** Null where the endpoint has no list of its models. Throws `network`, and `auth` for the key. */
  async models(): Promise<string[] | null> {
    const { status, body } = await this.#request({ method: 'GET', path: '/models', timeoutMs: LIMITS_MS.probe });
    if (status !== 200 || !isRecord(body) || !Array.isArray(body['data'])) return null;
    const ids = body['data'].map((item: unknown) => (isRecord(item) ? item['id'] : null));
    return ids.filter((id) => typeof id === 'string');
  }

  /**
   * One completion of one token. Throws `network` for the URL, `auth` for the key, `not-found` for the model with the
   * models that the endpoint has, `server` for another interface.
   */
  async complete(model: string): Promise<void> {
    const messages = [{ role: 'user', content: 'Reply with OK.' }];
    const answer = await this.#request({
      method: 'POST',
      path: '/chat/completions',
      body: { model, messages, max_tokens: 1 },
      timeoutMs: LIMITS_MS.model,
    });
    const { status, body, request } = answer;
    const { baseUrl } = this.#app;
    if (status < 300 && isRecord(body) && Array.isArray(body['choices'])) return;
    const models = status >= 400 && status < 500 && status !== 429 ? await this.models() : null;
    if (models !== null && !models.includes(model)) {
      const named = models.slice(0, MOST_NAMED).join(', ');
      const more = models.length > MOST_NAMED ? ` and ${models.length - MOST_NAMED} more` : '';
      throw new AppError('not-found', `llm_model: ${baseUrl} has no model "${model}"`, {
        status,
        request,
        hint: models.length === 0 ? 'it has no model yet' : `it has ${named}${more}`,
      });
    }
    // Some models refuse an answer of one token, others refuse `max_tokens`.
    if (status === 400 && models !== null) return;
    if (status < 300 || status === 404 || status === 405)
      throw new AppError('server', `llm_base_url: ${baseUrl} has no OpenAI-compatible interface`, {
        status,
        request,
        hint: 'most of these URLs end with /v1',
      });
    const kind = answer.error?.kind ?? 'server';
    throw new AppError(kind, `llm_model: ${baseUrl} answered ${status}: ${reasonOf(answer)}`, { status, request });
  }

  async #request(call: Pick<Call, 'method' | 'path' | 'body' | 'timeoutMs'>): Promise<Answer> {
    let answer: Answer;
    try {
      // It changes nothing, so a dry run sends it too.
      answer = await this.#app.request({ ...call, safe: 'read', expect: 'any', accept: [429] });
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'network') throw error;
      throw new AppError('network', `llm_base_url: ${error.message}`, { ...error.details, cause: error });
    }
    const { status, request } = answer;
    if (status !== 401 && status !== 403) return answer;
    const what = this.#key === null ? 'requires a key' : 'refuses the key';
    throw new AppError('auth', `llm_api_key: ${this.#app.baseUrl} ${what}: ${reasonOf(answer)}`, {
      status,
      request,
      hint: 'give the key: acs settings set llm_api_key=-',
    });
  }
}
