import type { Detail } from '../../protocol/detail.ts';

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`HTTP ${status}`);
    this.status = status;
    this.body = body;
  }
}

export function refuse(status: number, detail: string): HttpError {
  return new HttpError(status, { detail });
}

export function invalid(detail: Detail[]): HttpError {
  return new HttpError(422, { detail });
}

export function missing(part: 'body' | 'query', name: string): HttpError {
  return invalid([{ type: 'missing', loc: [part, name], msg: 'Field required', input: null }]);
}

/** A 422 for a member of the body whose value is refused; `why` is a sentence. */
export function invalidMember(member: string, why: string): HttpError {
  return invalid([
    { type: 'value_error', loc: ['body', member], msg: `Value error, ${why}`, ctx: { error: {} } },
  ]);
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

export const SUCCESS = { success: true };
