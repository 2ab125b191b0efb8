/** The context of an endpoint, as far as it is known, and what of it the history may take. */
import { ollamaContext, ollamaUrl } from '../../../protocol/ollama.ts';
import type { Llm } from '../../../protocol/agent-server/requests.ts';
import { knownModel } from '../../base/known-models.ts';
import { endpointOf } from '../../base/model-endpoint.ts';
import { fetchByProxy } from '../proxy.ts';
import type { ModelFailure } from './failure.ts';
import { bounded } from './fetch.ts';

/** Of the system prompt and the tools, measured. */
const PROMPT_TOKENS = 1100;
const FOR_HISTORY = 0.75;
const TIMEOUT_MS = 2000;
const LARGEST_ANSWER = 4 * 1024 * 1024;
/** As in "maximum context length is 8192 tokens". */
const REFUSED_AT =
  /(?:context (?:length|window|size|limit)|token limit|input length)\D{1,30}(\d{4,8})/i;

export class ContextLimits {
  /** Keys are an endpoint and a model; values are tokens. */
  readonly #known = new Map<string, number>();

  /** Tokens for the history; Infinity: nothing is known. */
  async room(llm: Llm, signal: AbortSignal): Promise<number> {
    const at = endpointOf(llm);
    const ollama = at && ollamaUrl(llm.model ?? '', at.baseUrl);
    if (ollama && !this.#known.has(keyOf(llm))) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const tokens = await askOllama(ollama, at.model, limit);
      signal.throwIfAborted();
      if (tokens !== null) this.#known.set(keyOf(llm), tokens);
    }
    const tokens = this.#known.get(keyOf(llm)) ?? (await knownModel(llm))?.context ?? Infinity;
    return Math.max(0, tokens * FOR_HISTORY - PROMPT_TOKENS);
  }

  /** Keeps the limit that a refusal names. */
  learn(llm: Llm, { message }: ModelFailure): void {
    const [, tokens] = REFUSED_AT.exec(message) ?? [];
    if (tokens !== undefined) this.#known.set(keyOf(llm), Number(tokens));
  }
}

function keyOf(llm: Llm): string {
  const { baseUrl = '', model = '' } = endpointOf(llm) ?? {};
  return `${baseUrl} ${model}`;
}

async function askOllama(url: string, model: string, signal: AbortSignal): Promise<number | null> {
  const body = JSON.stringify({ model });
  const [ps, show] = await Promise.all([
    read(`${url}/api/ps`, { signal }),
    read(`${url}/api/show`, { signal, method: 'POST', body }),
  ]);
  return ollamaContext(ps, show, model);
}

/** Null: no JSON in time. */
async function read(url: string, init: RequestInit): Promise<unknown> {
  try {
    const { body } = await fetchByProxy(url, { ...init, redirect: 'error' });
    return await new Response(body?.pipeThrough(bounded(LARGEST_ANSWER))).json();
  } catch {
    return null;
  }
}
