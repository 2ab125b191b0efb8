/** An OpenAI-compatible endpoint, called to see whether its URL, key and model work. */
import { AppError, isAppError } from '../base/errors.ts';
import { isRecord } from '../protocol/shape.ts';
import { reasonOf, type Answer } from './http/answer.ts';
import type { Call } from './http/call.ts';
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
   * Null where the endpoint has no list of its models. Throws `network`, `auth` for the key,
   * `server` for HTML.
   */
  async models(): Promise<string[] | null> {
    const answer = await this.#request({
      method: 'GET',
      path: '/models',
      timeoutMs: LIMITS_MS.probe,
    });
    const { status, body, contentType } = answer;
    if (contentType === 'text/html') throw this.#noInterface(answer);
    if (status !== 200 || !isRecord(body) || !Array.isArray(body['data'])) return null;
    const ids = body['data'].map((item: unknown) => (isRecord(item) ? item['id'] : null));
    return ids.filter((id) => typeof id === 'string');
  }

  /**
   * One completion with a tool, as an agent needs it. Throws `network` for the URL, `auth` for the
   * key, `not-found` for the model with the models that the endpoint has, `usage` for a model that
   * refuses it, `server` for what is no such endpoint.
   */
  async complete(model: string, timeoutMs: number = LIMITS_MS.model): Promise<void> {
    const messages = [{ role: 'user', content: 'Reply with OK.' }];
    const post = (limit: Record<string, number>): Promise<Answer> => {
      const body = { model, messages, tools: [TOOL], ...limit };
      return this.#request({ method: 'POST', path: '/chat/completions', body, timeoutMs });
    };
    let answer = await post({ max_tokens: 1 });
    // Reasoning models refuse `max_tokens`, and a limit that ends their reasoning.
    if (answer.status === 400) answer = await post({ max_completion_tokens: 1000 });
    const { status, body, request } = answer;
    if (status < 300 && isRecord(body) && Array.isArray(body['choices'])) return;
    const isAboutModel = [400, 404, 422].includes(status);
    const models = isAboutModel ? await this.models() : null;
    if (status < 300 || status === 405 || (status === 404 && models === null))
      throw this.#noInterface(answer);
    const isListed = models === null || models.includes(model);
    const refused = status === 404 || !isListed ? 'not-found' : 'usage';
    const kind = isAboutModel ? refused : (answer.error?.kind ?? 'server');
    const message =
      `llm_model: ${this.#app.baseUrl} answered ${status} for "${model}": ` + `${reasonOf(answer)}`;
    throw new AppError(kind, message, {
      status,
      request,
      hint: isListed ? hintOf(status) : listOf(models),
    });
  }

  #noInterface({ status, contentType, request }: Answer): AppError {
    const { baseUrl } = this.#app;
    const what = `${status}, ${contentType || 'without a content type'}`;
    return new AppError(
      'server',
      `llm_base_url: ${baseUrl} has no OpenAI-compatible interface (it answered ${what})`,
      {
        status,
        request,
        hint: hasVersion(baseUrl) ? 'check the URL' : 'most of these URLs end with /v1',
      },
    );
  }

  async #request(call: Pick<Call, 'method' | 'path' | 'body' | 'timeoutMs'>): Promise<Answer> {
    let answer: Answer;
    try {
      // It changes nothing, so a dry run sends it too.
      answer = await this.#app.request({ ...call, safe: 'read', expect: 'any', accept: [429] });
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'network') throw error;
      throw new AppError('network', `llm_base_url: ${error.message}`, {
        ...error.details,
        cause: error,
      });
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

/** Whether the path says which version of an interface it is, as `/v1` and `/v1beta/openai` do. */
function hasVersion(url: string): boolean {
  return /\/v\d/.test(url);
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
