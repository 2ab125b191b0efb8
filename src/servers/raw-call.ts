/** Any request of a user to the app server: the key, the pace and the retries of all requests, the answer as it comes. */
import type { RawAnswer, RawCall } from '../domain/raw-call.ts';
import { AppError } from '../errors.ts';
import { REDACTED, isSecretName } from '../text/secret-names.ts';
import type { Links } from './links.ts';
import { foundNothing, isJsonType, type Answer } from './transport/answer.ts';
import type { Call } from './transport/call.ts';
import type { Redaction } from './transport/redaction.ts';

const SAFE: Record<RawCall['method'], Call['safe']> = {
  GET: 'read',
  HEAD: 'read',
  OPTIONS: 'read',
  PUT: 'idempotent',
  DELETE: 'idempotent',
  POST: 'once',
  PATCH: 'once',
};

const NOT_MODIFIED = 304;

export async function rawCall({ app, network }: Links, { method, path, headers, body }: RawCall): Promise<RawAnswer> {
  const sent = body === null ? {} : { raw: body, ...shownBody(body) };
  const call: Call = { method, path, headers, ...sent, safe: SAFE[method], expect: 'any', inDryRun: 'printed' };
  const answer = await app.request(call);
  return {
    status: answer.status,
    headers: shownHeaders(answer.headers, network.redaction),
    contentType: answer.contentType,
    ...shownContent(answer, network.redaction),
    error: isSuccess(method, answer) ? null : errorFor(answer),
  };
}

/** JSON as a value, whose secret members are then not printed. */
function shownBody({ contentType, bytes }: NonNullable<RawCall['body']>): Pick<Call, 'body'> {
  if (!isJsonType(contentType.split(';')[0]?.trim().toLowerCase() ?? '')) return {};
  try {
    return { body: JSON.parse(new TextDecoder().decode(bytes)) as unknown };
  } catch {
    return {};
  }
}

function isSuccess(method: RawCall['method'], answer: Answer): boolean {
  if (answer.error === undefined || answer.status === NOT_MODIFIED) return true;
  return method === 'DELETE' && answer.status === 404 && !foundNothing(answer);
}

/** 400 and 422 are errors of the user, who wrote the request; a 404 without a text does not suggest a wrong server. */
function errorFor({ status, error, request }: Answer): AppError | null {
  if (error === undefined) return null;
  const kind = status === 400 || status === 422 ? 'usage' : status === 404 ? 'not-found' : error.kind;
  if (HINTS[kind] === undefined) return error;
  const message = error.kind === 'server' && status === 404 ? 'the server answered 404' : error.message;
  return new AppError(kind, message, { status, request, hint: HINTS[kind], retryable: false });
}

const HINTS: Partial<Record<AppError['kind'], string>> = {
  usage: 'the body of the answer says what is wrong with the request',
  'not-found': 'check the path: the server may lack this route',
};

function shownHeaders(headers: Answer['headers'], redaction: Redaction): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSecretName(name) ? REDACTED : redaction.text(value)]),
  );
}

function shownContent(answer: Answer, redaction: Redaction): Pick<RawAnswer, 'bytes' | 'json'> {
  const { body, bytes, contentType } = answer;
  if (body !== undefined) {
    const json = redaction.value(body);
    return { json, bytes: json === body ? bytes : Buffer.from(JSON.stringify(json)) };
  }
  // A byte is a character here, so that what is not redacted stays as it is in any encoding.
  const text = Buffer.from(bytes).toString('latin1');
  const shown = isText(contentType) ? redaction.text(text) : redaction.known(text);
  return { json: undefined, bytes: shown === text ? bytes : Buffer.from(shown, 'latin1') };
}

function isText(contentType: string): boolean {
  return /^text\/|[/+](?:json|xml|x-ndjson|jsonl|yaml|javascript)$/.test(contentType);
}
