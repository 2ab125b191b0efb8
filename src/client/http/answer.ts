import {
  AppError,
  type ErrorDetails,
  type ErrorKind,
  type NamedRequest,
} from '../../base/errors.ts';
import { cut, shortened } from '../../base/text/well-formed.ts';
import { isRecord } from '../../protocol/shape.ts';
import { shownUrl } from './address.ts';
import type { Call } from './call.ts';

const MAX_SERVER_TEXT = 500;

export interface Answer {
  status: number;
  /** Lower case, without parameters; empty when there is none. */
  contentType: string;
  headers: Record<string, string>;
  body: unknown;
  bytes: Uint8Array;
  /** The server may have carried out an earlier try, whose answer was lost. */
  afterLostTry?: true;
  request: NamedRequest;
  error?: AppError;
}

/** 404, or the `false` of V0. After a lost try it counts as done: that try may have deleted it. */
export function foundNothing({ status, body, afterLostTry }: Answer): boolean {
  return (status === 404 || body === false) && afterLostTry === undefined;
}

export function errorBy(
  { status, request }: Pick<Answer, 'status' | 'request'>,
  kind: ErrorKind,
  message: string,
  more: Pick<ErrorDetails, 'hint' | 'retryable' | 'data'> = {},
): AppError {
  return new AppError(kind, message, { status, request, ...more });
}

export function isMissingRoute({ status, body }: Answer): boolean {
  return status === 405 || (status === 404 && serverText(body) === 'Not Found');
}

export function isJsonType(contentType: string): boolean {
  return contentType === 'application/json' || contentType.endsWith('+json');
}

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Interface 8.1. An agent server has `exception: "503: text"` and hides the text in `detail`. */
export function serverText(body: unknown): string | null {
  const text = findText(body, 0)
    ?.replace(/^5\d\d: /, '')
    .trim();
  return text ? shortened(text, MAX_SERVER_TEXT) : null;
}

export function reasonOf({ body }: Pick<Answer, 'body'>): string {
  return serverText(body) ?? 'no reason given';
}

function findText(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.flatMap((item) => validationText(item) ?? []).join('; ');
  if (!isRecord(value) || depth > 3) return null;
  for (const name of ['exception', 'detail', 'error_description', 'error', 'message']) {
    const text = findText(value[name], depth + 1);
    if (text) return text;
  }
  return null;
}

/** `{loc: ["body", "x"], msg}`: the `input` of a validation error may hold a secret. */
function validationText(item: unknown): string | null {
  if (typeof item === 'string') return item;
  const { loc, msg } = isRecord(item) ? item : {};
  if (typeof msg !== 'string') return null;
  const where = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
  const text = msg.replace(/^Value error, /, ''); // the prefix of the server's library
  return where === '' ? text : `${where}: ${text}`;
}

interface Meaning {
  /** Null: the call accepts the answer. `refusal`: of the key, or of this request alone. */
  error: AppError | 'refusal' | null;
  contradictsFacts: boolean;
}

export function meaningOf(call: Call, answer: Answer): Meaning {
  const { expect, accept, mayBeMissing } = call;
  const { status, body } = answer;
  if (isResult(call, answer)) return { error: null, contradictsFacts: false };
  if (expect === 'any') return { error: errorOf(call, answer), contradictsFacts: false };
  const isAccepted = accept?.includes(status) === true;
  const isMisplaced = isGood(status) || ([404, 405].includes(status) && body === undefined);
  const differs = isMissingRoute(answer) || status === 422 || (isMisplaced && !isAccepted);
  const contradictsFacts = differs && !(isAccepted && mayBeMissing);
  if (isAccepted) return { error: null, contradictsFacts };
  const error = isMisplaced ? wrongPlaceError(answer) : errorOf(call, answer);
  return { error, contradictsFacts };
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

function isResult({ expect = 'json' }: Call, answer: Answer): boolean {
  const { status, contentType, body, bytes } = answer;
  if (!isGood(status)) return false;
  if (expect === 'json') return body !== undefined || (status === 204 && bytes.length === 0);
  return expect === 'any' || contentType !== 'text/html';
}

function errorOf({ safe }: Call, answer: Answer): AppError | 'refusal' {
  const { status, body, request } = answer;
  if (status === 401 || status === 403) return 'refusal';
  // A gateway timed out; the server behind it may still execute the request.
  const isGateway = status === 504 || (status === 502 && body === undefined);
  return safe === 'once' && isGateway
    ? unknownOutcome(`a gateway answered ${status}`, { status, request })
    : statusError(answer);
}

const STATUSES: Readonly<
  Record<number, { kind: ErrorKind; text?: string; hint?: string; retryable?: boolean }>
> = {
  401: { kind: 'auth' },
  402: { kind: 'conflict' },
  403: { kind: 'auth' },
  404: { kind: 'not-found' },
  405: { kind: 'unsupported' },
  408: { kind: 'network', retryable: true },
  409: { kind: 'conflict' },
  410: { kind: 'conflict' },
  413: { kind: 'usage' },
  429: {
    kind: 'rate-limited',
    text: 'rate limit exceeded',
    hint: 'try again later, or set a lower ACS_RATE',
    retryable: true,
  },
  500: {
    kind: 'server',
    hint: 'its log has the cause; see whether other routes fail too: acs doctor',
  },
  501: { kind: 'unsupported', text: 'the server does not support this', retryable: false },
  507: { kind: 'server', retryable: false },
};

export function statusError(answer: Answer): AppError {
  const { status, request } = answer;
  const reason = shownText(answer);
  if (status === 404 && reason === null) return wrongPlaceError(answer);
  const of = status === 500 ? ` to ${request.method} ${routeOf(answer)}` : '';
  const {
    kind,
    text = `the server answered ${status}${of}`,
    hint,
    retryable = status >= 500,
  } = STATUSES[status] ?? { kind: 'server' };
  return errorBy(answer, kind, reason === null ? text : `${text}: ${reason}`, { hint, retryable });
}

function shownText({ contentType, body, bytes }: Answer): string | null {
  if (isJsonType(contentType)) return serverText(body);
  if (contentType === 'text/plain')
    return serverText(new TextDecoder().decode(bytes.subarray(0, 4 * MAX_SERVER_TEXT)));
  return contentType === '' ? null : `(${contentType})`;
}

/** Not by the URL class: a key that is part of the host is redacted there. */
export function routeOf({ request }: Pick<Answer, 'request'>): string {
  return request.url.replace(/^\w+:\/\/[^/]*|\?.*$/g, '');
}

function wrongPlaceError(answer: Answer): AppError {
  const { bytes, contentType, status } = answer;
  const ofType = isJsonType(contentType)
    ? 'JSON that cannot be read'
    : `an answer of type ${cut(contentType, 80) || '(none)'}`;
  const what = bytes.length === 0 ? 'an empty answer' : ofType;
  const message = `the server sent ${what} (status ${status}) where JSON was expected`;
  const hint = 'is this the right server? check the URL with: acs whoami';
  return errorBy(answer, 'server', message, { hint });
}

export function unknownOutcome(what: string, details: ErrorDetails): AppError {
  const message = `${what}; whether the server acted on the request is not known`;
  const hint = 'look before trying again';
  return new AppError('unknown-outcome', message, { ...details, hint, retryable: false });
}

const MOST_REDIRECTS = 5;

/** Throws for a redirect to another origin, also from http to https: keys go to one origin only. */
export function redirectTarget(
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
  url: string,
  method: Call['method'],
  hops: number,
): string {
  const refuse = (message: string, hint = 'is this the right server?') =>
    errorBy({ status, request: { method, url: shownUrl(url) } }, 'server', message, { hint });
  const location = headers['location'] ?? '';
  if (!URL.canParse(location, url))
    throw refuse('the server sent a redirect without a valid location');
  const { href, origin, pathname } = new URL(location, url);
  const isOwn = origin === new URL(url).origin;
  const keepsMethod = [307, 308].includes(status) || ['GET', 'HEAD'].includes(method);
  if (isOwn && keepsMethod && hops < MOST_REDIRECTS) return href;
  const shown = shownUrl(origin + pathname);
  const message = `the server redirects to ${shown}, which acs does not follow`;
  throw refuse(message, isOwn ? undefined : `if that is your server, use it as the URL: ${origin}`);
}

export interface Failure {
  class: 'dns' | 'refused' | 'unreachable' | 'tls' | 'timeout' | 'reset' | 'proxy' | 'other';
  sent: 'no' | 'maybe';
  /** `{host}`, `{code}`, `{message}` and `{seconds}` are filled in. */
  text: string;
  hint?: string | undefined;
}

const PROXY_HINT = 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY';
const NETWORK_HINT = 'check the URL and the network';

const UNRESOLVED: Failure = {
  class: 'dns',
  sent: 'no',
  text: 'the name {host} cannot be resolved',
  hint: NETWORK_HINT,
};
const UNREACHABLE: Failure = {
  class: 'unreachable',
  sent: 'no',
  text: '{host} cannot be reached ({code})',
  hint: NETWORK_HINT,
};
const LOST: Failure = {
  class: 'reset',
  sent: 'maybe',
  text: 'the connection to {host} was lost ({code})',
};
const CUT: Failure = { ...LOST, text: 'the connection to {host} was cut' };
const NOT_PROXIED: Failure = {
  class: 'proxy',
  sent: 'no',
  text: 'the proxy did not connect to {host} (it answered {message})',
  hint: PROXY_HINT,
};
const SILENCE: Failure = {
  class: 'timeout',
  sent: 'maybe',
  text: '{host} sent nothing for {seconds} s',
  hint: 'raise --request-timeout if the server is only slow',
};

/** Keys are codes of errors, with `connect` before those of connecting. */
const FAILURES: Readonly<Record<string, Failure>> = {
  ENOTFOUND: UNRESOLVED,
  EAI_AGAIN: UNRESOLVED,
  'connect ECONNREFUSED': {
    class: 'refused',
    sent: 'no',
    text: 'nothing listens at {host} (connection refused)',
    hint: 'check that the server runs and the port is right',
  },
  'connect ETIMEDOUT': {
    class: 'timeout',
    sent: 'no',
    text: 'no connection to {host} within {seconds} s',
    hint: `${NETWORK_HINT}, or raise --request-timeout`,
  },
  'connect EHOSTUNREACH': UNREACHABLE,
  'connect ENETUNREACH': UNREACHABLE,
  'connect EADDRNOTAVAIL': UNREACHABLE,
  ETIMEDOUT: LOST,
  EHOSTUNREACH: LOST,
  ENETUNREACH: LOST,
  EADDRNOTAVAIL: LOST,
  ECONNRESET: CUT,
  EPIPE: CUT,
  ACS_SILENCE: SILENCE,
  ACS_TOTAL: { ...SILENCE, text: '{host} {message}' },
  ACS_PROXY: NOT_PROXIED,
  ACS_PROXY_LOGIN: {
    ...NOT_PROXIED,
    hint:
      'put a user name and password in HTTP_PROXY or HTTPS_PROXY: ' +
      'http://<user>:<password>@<host>:<port>',
  },
  ACS_PROXY_URL: { ...NOT_PROXIED, text: 'the URL of the proxy for {host} is not valid' },
};

const TLS_CODES =
  /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

const NOT_TLS = 'the port does not speak TLS: check the port, or use http';
const TLS_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'renew the certificate on the server, or check the clock of this machine',
  CERT_NOT_YET_VALID: 'check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'use the host name that the certificate is for',
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
};
const PRIVATE_CA = 'for a private certificate authority set NODE_EXTRA_CA_CERTS to its file';

function failureOf(code: string): Failure {
  if (TLS_CODES.test(code)) {
    const text = 'the TLS connection to {host} failed ({code})';
    return { class: 'tls', sent: 'no', text, hint: TLS_HINTS[code] ?? PRIVATE_CA };
  }
  const other = { class: 'other', sent: 'maybe' } as const;
  return code.startsWith('HPE_')
    ? { ...other, text: '{host} does not speak HTTP', hint: 'is this the right port?' }
    : { ...other, text: 'the request to {host} failed: {message}' };
}

/** @param error of Node, or of Network, whose errors have the host of a proxy that failed itself */
export function classifyFailure(error: unknown, url: string, timeoutMs: number): Failure {
  const { errors: [first] = [error], proxy } = error as { errors?: unknown[]; proxy?: string };
  const { code = '', syscall, message = String(error) } = first as NodeJS.ErrnoException;
  const failure = FAILURES[`${syscall} ${code}`] ?? FAILURES[code] ?? failureOf(code);
  const host = proxy === undefined ? new URL(url).host : `the proxy ${proxy}`;
  const values = { host, code, message: cut(message, 300), seconds: timeoutMs / 1000 };
  const text = failure.text.replace(/\{(\w+)\}/g, (_, name: keyof typeof values) =>
    String(values[name]),
  );
  const isOfProxy = proxy !== undefined && failure.class !== 'other';
  return { ...failure, text, ...(isOfProxy && { hint: PROXY_HINT }) };
}
