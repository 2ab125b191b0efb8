import { ModelFailure } from './failure.ts';
import { fetchByProxy } from '../proxy.ts';
import { cut, wellFormedJson } from '../../../base/text/well-formed.ts';

/** Each token takes some 250 bytes of a stream. */
const LARGEST_ANSWER = 64 * 1024 * 1024;
const SHOWN = 200;

/** A redirect is not followed: it would get the key. The caller limits the time. */
export async function fetchAnswer(
  input: Parameters<typeof fetch>[0],
  init: Parameters<typeof fetch>[1],
  hasOwnTimeout: boolean,
): Promise<Response> {
  const body = typeof init?.body === 'string' ? { body: wellFormedJson(init.body) } : {};
  const answer = await fetchByProxy(input, { ...init, ...body, redirect: 'manual' }, hasOwnTimeout);
  const { status, headers } = answer;
  const { origin } = new URL(answer.url);
  const type = headers.get('content-type') ?? '';
  const stream = answer.body?.pipeThrough(limit()) ?? null;
  if (status >= 300 && status < 400) {
    await stream?.cancel();
    const detail =
      `${origin} redirects to ${headers.get('location') ?? 'nowhere'}. Correct ` + `llm_base_url.`;
    throw new ModelFailure('LLMBadResponseError', detail);
  }
  const limited = new Response(stream, { status, statusText: answer.statusText, headers });
  if (!answer.ok || !/html|json/i.test(type)) return limited;
  const said = cut((await limited.text()).trim(), SHOWN);
  const detail =
    `${origin} answered with ${type} in place of a stream: ${said}. Correct llm_base_url: ` +
    'most end with /v1.';
  throw new ModelFailure('LLMBadResponseError', detail);
}

function limit(): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.byteLength;
      if (length > LARGEST_ANSWER)
        throw new ModelFailure('LLMBadResponseError', 'The answer is longer than 64 MiB.');
      controller.enqueue(chunk);
    },
  });
}
