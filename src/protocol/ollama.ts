/** Ollama: the context that a model has there. Source: docs/api.md and docs/context-length.mdx. */
import { isRecord } from './shape.ts';

/** The URL of Ollama's own interface; null: another endpoint. */
export function ollamaUrl(model: string, baseUrl: string): string | null {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  return url !== null && (/^ollama(?:_chat)?\//.test(model) || url.port === '11434')
    ? url.origin
    : null;
}

/**
 * Tokens, of the answers to `GET /api/ps` and `POST /api/show`: what the model is loaded with, else
 * its own setting. Null: the default of Ollama, which no answer has before the model is loaded.
 */
export function ollamaContext(ps: unknown, show: unknown, model: string): number | null {
  const loaded = isRecord(ps) && Array.isArray(ps['models']) ? ps['models'].filter(isRecord) : [];
  const own = loaded.find(({ name }) => name === model || name === `${model}:latest`);
  const parameters = isRecord(show) ? String(show['parameters'] ?? '') : '';
  const [, typed] = /^num_ctx[ \t]+(\d{1,9})/m.exec(parameters) ?? [];
  const counts = [own?.['context_length'], Number(typed)];
  const known = counts.find((count) => Number.isSafeInteger(count) && Number(count) > 0);
  return known === undefined ? null : Number(known);
}
