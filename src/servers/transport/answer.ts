/** Checks answers, and turns them into errors by status. */
import { AppError } from '../../errors.ts';
import type { ErrorKind, NamedRequest, RequestDetails } from '../../errors.ts';

/** The texts of an unhandled exception. */
const UNHANDLED = 'Internal Server Error';
const UNHANDLED_HINT = 'its log has more; if every command ends so, stored settings may be the cause: acs settings get';

/** The maximum length of a server's message in an error. */
const MAX_SERVER_TEXT = 500;

/** An answer as it was received, before the transport adds the request. */
export type ReceivedAnswer = Omit<Answer, 'request' | 'afterLostTry' | 'error'>;

export interface Answer {
  status: number;
  /** Lower case, without parameters; empty when there is none. */
  contentType: string;
  headers: Record<string, string>;
  /** Parsed JSON where the answer is JSON, else undefined. */
  body: unknown;
  bytes: Uint8Array;
  /** An earlier try of the same request may have been carried out: its answer was lost, or a gateway answered. */
  afterLostTry?: true;
  /** The request it answers: for errors that only the reader of the answer finds. */
  request: NamedRequest;
  /** Of a call that expects `any` answer: what another call would have thrown for its status. */
  error?: AppError;
}

/**
 * Whether a DELETE found nothing: 404, or the `false` of V0. After a lost try it counts as done, because that try may
 * have deleted what the repetition does not find.
 */
export function foundNothing({ status, body, afterLostTry }: Answer): boolean {
  return (status === 404 || body === false) && afterLostTry === undefined;
}

/** The error for an answer that shows that the server lacks a route. */
export function unsupportedBy({ status, request }: Pick<Answer, 'status' | 'request'>, message: string): AppError {
  return new AppError('unsupported', message, { status, request });
}

export function isJsonType(contentType: string): boolean {
  return contentType === 'application/json' || contentType.endsWith('+json');
}

/** Interface 8.1: text from detail, error_description, error, message or a bare string. */
export function serverText(body: unknown): string | null {
  const text = findText(body, 0);
  if (text === null || text.trim() === '') return null;
  const flat = text.trim();
  return flat.length > MAX_SERVER_TEXT ? `${flat.slice(0, MAX_SERVER_TEXT)}…` : flat;
}

/** Stands in an error where the server has sent none. */
export const NO_REASON = 'no reason given';

export function reasonOf({ body }: Pick<Answer, 'body'>): string {
  return serverText(body) ?? NO_REASON;
}

function findText(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 3) return null;
  if (Array.isArray(value)) {
    const texts = value.map((item: unknown) => validationText(item)).filter((text) => text !== null);
    return texts.length > 0 ? texts.join('; ') : null;
  }
  const record = value as Record<string, unknown>;
  for (const name of ['detail', 'error_description', 'error', 'message']) {
    const text = findText(record[name], depth + 1);
    if (text !== null && text !== '') return text;
  }
  return null;
}

/** `{loc: ["body", "x"], msg}` of a validation error; its `input` may hold a secret and is left out. */
function validationText(item: unknown): string | null {
  if (typeof item === 'string') return item;
  if (typeof item !== 'object' || item === null) return null;
  const { loc, msg } = item as { loc?: unknown; msg?: unknown };
  if (typeof msg !== 'string') return null;
  const where = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
  const text = msg.replace(/^Value error, /, ''); // the prefix of the server's library
  return where === '' ? text : `${where}: ${text}`;
}

const KINDS: Record<number, ErrorKind> = {
  401: 'auth',
  402: 'conflict',
  403: 'auth',
  404: 'not-found',
  405: 'unsupported',
  408: 'network',
  409: 'conflict',
  410: 'conflict',
  413: 'usage',
  429: 'rate-limited',
  501: 'unsupported',
};

/**
 * The error an answer stands for. 400 and 422 are `server` here, because the request's shape is acs's doing; callers
 * that send a user's own values (a start, settings) say `usage` instead.
 */
export function statusError(answer: Answer, details: RequestDetails): AppError {
  const { status } = answer;
  const text = isJsonType(answer.contentType) ? serverText(answer.body) : plainText(answer);
  const kind = KINDS[status] ?? 'server';
  const said = text === null ? '' : `: ${text}`;
  // A repetition changes neither 501 (not supported) nor 507 (no room).
  const retryable = status === 429 || status === 408 || (status >= 500 && status !== 501 && status !== 507);
  if (status === 404 && text === null) return wrongPlaceError(answer, details);
  if (status === 429) {
    return new AppError(kind, `the server limits how fast it is asked${said}`, {
      ...details,
      status,
      retryable,
      hint: 'try again later, or lower --rate',
    });
  }
  if (status === 501 && text !== null) {
    return new AppError(kind, `the server does not support this: ${text}`, { ...details, status, retryable });
  }
  const hint = status === 500 && text === UNHANDLED ? UNHANDLED_HINT : undefined;
  return new AppError(kind, `the server answered ${status}${said}`, { ...details, status, retryable, hint });
}

/** Server text of answers that are not JSON: plain text is shown, HTML is only named. */
function plainText(answer: Answer): string | null {
  if (answer.contentType !== 'text/plain') return answer.contentType === '' ? null : `(${answer.contentType})`;
  return serverText(new TextDecoder().decode(answer.bytes.subarray(0, 4 * MAX_SERVER_TEXT)));
}

/** The error of a response that is not JSON: HTML of a frontend or a login page, an empty body, malformed JSON. */
export function wrongPlaceError(answer: Answer, details: RequestDetails): AppError {
  const what =
    answer.bytes.length === 0
      ? 'an empty answer'
      : isJsonType(answer.contentType)
        ? 'JSON that cannot be read'
        : `an answer of type ${answer.contentType === '' ? '(none)' : answer.contentType.slice(0, 80)}`;
  return new AppError('server', `the server sent ${what} (status ${answer.status}) where JSON was expected`, {
    ...details,
    status: answer.status,
    hint: 'is this the right server? check the URL with: acs whoami',
  });
}
