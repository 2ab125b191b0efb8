import type { RawAnswer, RawCall } from '../domain/raw-call.ts';
import { AppError, type ErrorKind } from '../base/errors.ts';
import { REDACTED, isSecretName } from '../base/text/secret-names.ts';
import type { Links } from './shared/links.ts';
import { foundNothing, isJsonType, type Answer } from './http/answer.ts';
import type { Call } from './http/call.ts';
import type { Redaction } from './http/redaction.ts';

const SAFE: Record<RawCall['method'], Call['safe']> = {
  GET: 'read',
  HEAD: 'read',
  OPTIONS: 'read',
  PUT: 'idempotent',
  DELETE: 'idempotent',
  POST: 'once',
  PATCH: 'once',
};

export async function rawCall(
  { app, network }: Links,
  { method, path, headers, body }: RawCall,
): Promise<RawAnswer> {
  const type = body?.contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  // As a value, whose secret members are then not printed.
  const json = body !== null && isJsonType(type) ? parsed(body.bytes) : undefined;
  const sent = { ...(body !== null && { raw: body }), ...(json !== undefined && { body: json }) };
  const call: Call = {
    method,
    path,
    headers,
    ...sent,
    safe: SAFE[method],
    expect: 'any',
    inDryRun: 'printed',
  };
  const answer = await app.request(call);
  return {
    status: answer.status,
    headers: Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [
        name,
        isSecretName(name, 'header') ? REDACTED : network.redaction.text(value),
      ]),
    ),
    contentType: answer.contentType,
    ...shownContent(answer, network.redaction),
    // A repeated delete that finds nothing has succeeded.
    error:
      method === 'DELETE' && answer.status === 404 && !foundNothing(answer)
        ? null
        : errorFor(answer),
  };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

const KINDS: Readonly<Record<number, ErrorKind>> = { 400: 'usage', 422: 'usage', 404: 'not-found' };

/**
 * 400 and 422 are errors of the user, who wrote the request; a 404 without a text does not suggest
 * a wrong server.
 */
function errorFor({ status, error, request }: Answer): AppError | null {
  if (error === undefined || status === 304) return null;
  const kind = KINDS[status] ?? error.kind;
  if (kind !== 'usage' && kind !== 'not-found') return error;
  const message =
    error.kind === 'server' && status === 404 ? 'the server answered 404' : error.message;
  const hint =
    kind === 'usage'
      ? 'the body of the answer says what is wrong with the request'
      : 'check the path: the server may lack this route';
  return new AppError(kind, message, { status, request, hint, retryable: false });
}

function shownContent(answer: Answer, redaction: Redaction): Pick<RawAnswer, 'bytes' | 'json'> {
  const { body, bytes, contentType } = answer;
  if (body !== undefined) {
    const json = redaction.value(body);
    return { json, bytes: json === body ? bytes : Buffer.from(JSON.stringify(json)) };
  }
  // A byte is a character here, so that what is not redacted stays as it is in any encoding.
  const text = Buffer.from(bytes).toString('latin1');
  const isText = /^text\/|[/+](?:json|xml|x-ndjson|jsonl|yaml|javascript)$/.test(contentType);
  const shown = isText ? redaction.text(text) : redaction.known(text);
  return { json: undefined, bytes: shown === text ? bytes : Buffer.from(shown, 'latin1') };
}
