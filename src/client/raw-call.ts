import type { RawAnswer, RawCall } from '../domain/raw-call.ts';
import type { AppError, ErrorKind } from '../base/errors.ts';
import { REDACTED, isSecretName } from '../base/text/secret-names.ts';
import type { Links } from './shared/links.ts';
import { errorBy, foundNothing, isJsonType, parseJson, type Answer } from './http/answer.ts';
import type { Redaction } from './http/redaction.ts';

export async function rawCall(
  { app, network }: Links,
  { method, path, headers, body }: RawCall,
): Promise<RawAnswer> {
  const type = body?.contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  // The parsed body shows which of its members are secret and not printed.
  const json = body !== null && isJsonType(type) ? parseJson(body.bytes) : undefined;
  const sent = { ...(body !== null && { raw: body }), ...(json !== undefined && { body: json }) };
  const call = { method, path, headers, expect: 'any', inDryRun: 'printed', ...sent } as const;
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

const KINDS: Readonly<Record<number, ErrorKind>> = { 400: 'usage', 422: 'usage', 404: 'not-found' };

/** The user wrote the request: 400 and 422 are about it, and a 404 is about its path. */
function errorFor(answer: Answer): AppError | null {
  const { status, error } = answer;
  if (error === undefined || status === 304) return null;
  const kind = KINDS[status] ?? error.kind;
  if (kind !== 'usage' && kind !== 'not-found') return error;
  const isWithoutText = error.kind === 'server' && status === 404;
  const message = isWithoutText ? 'the server answered 404' : error.message;
  const hint =
    kind === 'usage'
      ? 'the body of the answer says what is wrong with the request'
      : 'check the path: the server may lack this route';
  return errorBy(answer, kind, message, { hint, retryable: false });
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
