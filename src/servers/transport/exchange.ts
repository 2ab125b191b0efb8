/** One request and its answer: bytes out, bytes in, redirects on the same origin, the lines of `--debug`. */
import { AppError, isAppError } from '../../errors.ts';
import { isJsonType } from './answer.ts';
import type { ReceivedAnswer } from './answer.ts';
import { isLoopback, shownUrl } from './address.ts';
import { ACCEPTED_ENCODINGS, MOST_BYTES } from './body.ts';
import { shownBody } from './dry-run.ts';
import { classifyFailure, peerOf } from './failure.ts';
import type { Failure } from './failure.ts';
import type { Call, TransportOptions } from './call.ts';
import type { Received } from './straight.ts';
import { LIMITS_MS } from './time-limits.ts';

export type Exchange = (call: Call, url: string) => Promise<{ answer: ReceivedAnswer } | { failure: Failure }>;

const MOST_REDIRECTS = 5;
const MOST_LOGGED_CHARACTERS = 2_000;

export function createExchange(options: TransportOptions): Exchange {
  return async (call, firstUrl) => {
    const timeoutMs = options.requestTimeoutMs ?? call.timeoutMs ?? LIMITS_MS.request;
    let url = firstUrl;
    for (let hops = 0; ; hops++) {
      const startedAtMs = options.clock.now();
      let answer: ReceivedAnswer;
      try {
        logRequest(options, call, url);
        answer = await readAnswer(await send(options, call, url, timeoutMs), boundOf(call));
      } catch (error) {
        if (options.signal.aborted) throw options.signal.reason;
        if (isAppError(error)) throw withRequest(error, call, url);
        const failure = classifyFailure(error, peerOf(error, url, options.network.proxyOf(url)), timeoutMs);
        options.log?.(`< ${failure.text} (${options.clock.now() - startedAtMs} ms)`);
        return { failure };
      }
      logAnswer(options, answer, options.clock.now() - startedAtMs);
      if (answer.status < 300 || answer.status >= 400 || answer.status === 304) return { answer };
      url = redirectTarget(answer, url, call, hops);
    }
  };
}

async function send(options: TransportOptions, call: Call, url: string, timeoutMs: number): Promise<Received> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    // On the same machine encoding costs more than it saves.
    'accept-encoding': isLoopback(url) ? 'identity' : ACCEPTED_ENCODINGS,
    ...(call.expect === 'json' || call.expect === undefined ? {} : { accept: '*/*' }),
    ...call.headers,
    ...options.headers,
  };
  let body: string | Uint8Array | null = null;
  if (call.raw !== undefined) {
    headers['content-type'] = call.raw.contentType;
    body = call.raw.bytes;
  } else if (call.body !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(call.body);
  }
  const { network, signal } = options;
  const sending = { method: call.method, headers, body, silenceMs: timeoutMs, maxBytes: boundOf(call), signal };
  if (call.stream !== undefined) return (await import('./stream.ts')).sendStream(network, url, sending, call.stream);
  return network.send(url, call.safe === 'once' ? 'fresh' : 'kept', sending);
}

function boundOf({ maxBytes, expect = 'json' }: Call): number {
  return maxBytes ?? MOST_BYTES[expect];
}

/** An answer that was refused before it was read. */
function withRequest(error: AppError, { method }: Call, url: string): AppError {
  return new AppError(error.kind, error.message, { ...error.details, request: { method, url: shownUrl(url) } });
}

async function readAnswer(
  { status, headers: received, bytes: body }: Received,
  maxBytes: number,
): Promise<ReceivedAnswer> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received)) {
    headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  }
  const encoding = headers['content-encoding'] ?? '';
  const bytes = encoding === '' ? body : await (await import('./decode.ts')).decode(body, encoding, maxBytes);
  const contentType = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return {
    status,
    contentType,
    headers,
    bytes,
    body: isJsonType(contentType) ? parse(bytes) : undefined,
  };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

/** Keys go to one origin only: a redirect elsewhere is an error, also from http to https. */
function redirectTarget(answer: ReceivedAnswer, url: string, call: Call, hops: number): string {
  const location = answer.headers['location'] ?? '';
  let target: URL | null = null;
  try {
    target = new URL(location, url);
  } catch {
    target = null;
  }
  const keepsMethod = answer.status === 307 || answer.status === 308 || ['GET', 'HEAD'].includes(call.method);
  if (target !== null && target.origin === new URL(url).origin && keepsMethod && hops < MOST_REDIRECTS)
    return target.href;
  const where = target === null ? 'nowhere' : shownUrl(target.origin + target.pathname);
  throw new AppError('server', `the server redirects to ${where}, which acs does not follow`, {
    status: answer.status,
    request: { method: call.method, url: shownUrl(url) },
    hint:
      target === null || target.origin === new URL(url).origin
        ? 'is this the right server?'
        : `if that is your server, use it as the URL: ${target.origin}`,
  });
}

function logRequest(options: TransportOptions, call: Call, url: string): void {
  if (options.log === undefined) return;
  const { redaction } = options.network;
  const body = call.body === undefined ? '' : ` ${cut(JSON.stringify(shownBody(call, redaction)))}`;
  options.log(redaction.text(`> ${call.method} ${shownUrl(url)}${body}`));
}

function logAnswer(options: TransportOptions, answer: ReceivedAnswer, ms: number): void {
  if (options.log === undefined) return;
  const { redaction } = options.network;
  const body =
    answer.body === undefined ? `(${answer.bytes.length} bytes)` : cut(JSON.stringify(redaction.value(answer.body)));
  options.log(redaction.text(`< ${answer.status} ${answer.contentType || '(no type)'} ${ms} ms ${body}`));
}

function cut(text: string): string {
  return text.length > MOST_LOGGED_CHARACTERS ? `${text.slice(0, MOST_LOGGED_CHARACTERS)}…` : text;
}
