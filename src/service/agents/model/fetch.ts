import { correctedStream, streamOfAnswer } from './chunks.ts';
import { ModelFailure } from './failure.ts';
import { fetchByProxy } from '../proxy.ts';
import { cut, wellFormedJson } from '../../../base/text/well-formed.ts';

/** Each token takes some 250 bytes of a stream. */
const LARGEST_ANSWER = 64 * 1024 * 1024;
const SHOWN = 200;

interface Sending {
  hasOwnTimeout: boolean;
  /** Written over those of the body. */
  members: Record<string, unknown>;
}

/** A redirect is not followed: it would get the key. The caller limits the time. */
export async function fetchAnswer(
  input: Parameters<typeof fetch>[0],
  request: Parameters<typeof fetch>[1],
  { hasOwnTimeout, members }: Sending,
): Promise<Response> {
  const body = bodyOf(request?.body as string, members);
  const sent = { ...request, body, redirect: 'manual' } as const;
  const answer = await fetchByProxy(input, sent, hasOwnTimeout);
  const { status, headers } = answer;
  const { origin } = new URL(answer.url);
  const type = headers.get('content-type') || 'no content type';
  const stream = answer.body?.pipeThrough(bounded(LARGEST_ANSWER));
  if (status >= 300 && status < 400) {
    await stream?.cancel();
    const target = headers.get('location') ?? 'nowhere';
    const detail = `${origin} redirects to ${target}. Correct llm_base_url.`;
    throw new ModelFailure('LLMBadResponseError', detail);
  }
  // Of proxies that block a client; a Response has no such status.
  if (status > 599) {
    const said = cut((await new Response(stream).text()).trim(), SHOWN);
    const detail = `${origin} answered with HTTP ${status}: ${said}. Correct llm_base_url.`;
    throw new ModelFailure('LLMBadRequestError', detail);
  }
  const init = { status, statusText: answer.statusText, headers };
  if (!answer.ok || stream === undefined) return new Response(stream, init);
  if (/event-stream/i.test(type)) return new Response(correctedStream(stream), init);
  const text = await new Response(stream).text();
  // Some endpoints name their stream text/plain, and some answer a request for a stream whole.
  const events = /^\s*(?:data|event|id)?:/.test(text) ? text : streamOfAnswer(text);
  if (events !== null) {
    const body = correctedStream(new Blob([events]).stream());
    return new Response(body, { ...init, headers: { 'content-type': 'text/event-stream' } });
  }
  const detail =
    `${origin} answered with ${type} in place of a stream: ${cut(text.trim(), SHOWN)}. Correct ` +
    'llm_base_url: most end with /v1.';
  throw new ModelFailure('LLMBadResponseError', detail);
}

function bodyOf(json: string, members: Sending['members']): string {
  if (Object.keys(members).length === 0) return wellFormedJson(json);
  const body = JSON.parse(json) as Record<string, unknown>;
  return wellFormedJson(JSON.stringify({ ...body, ...members }));
}

export function bounded(most: number): TransformStream<Uint8Array, Uint8Array> {
  const tooLong = `The answer is longer than ${most / 1024 / 1024} MiB.`;
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.byteLength;
      if (length > most) throw new ModelFailure('LLMBadResponseError', tooLong);
      controller.enqueue(chunk);
    },
  });
}
