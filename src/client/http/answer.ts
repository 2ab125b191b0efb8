/** The errors of requests: by the status of the answer, or by the failure of the connection. */
import {
  AppError,
  type ErrorKind,
  type NamedRequest,
  type RequestDetails,
} from '../../base/errors.ts';
import { cut, shortened } from '../../base/text/well-formed.ts';

const MAX_SERVER_TEXT = 500;

export interface Answer {
  status: number;
  /** Lower case, without parameters; empty when there is none. */
  contentType: string;
  headers: Record<string, string>;
  /** Undefined where the answer is not JSON. */
  body: unknown;
  bytes: Uint8Array;
  /**
   * An earlier try of the same request may have been carried out: its answer was lost, or a gateway
   * answered.
   */
  afterLostTry?: true;
  request: NamedRequest;
  error?: AppError;
}

/** 404, or the `false` of V0. After a lost try it counts as done: that try may have deleted it. */
export function foundNothing({ status, body, afterLostTry }: Answer): boolean {
  return (status === 404 || body === false) && afterLostTry === undefined;
}

export function unsupportedBy(
  { status, request }: Pick<Answer, 'status' | 'request'>,
  message: string,
): AppError {
  return new AppError('unsupported', message, { status, request });
}

export function isJsonType(contentType: string): boolean {
  return contentType === 'application/json' || contentType.endsWith('+json');
}

/** Interface 8.1: text from detail, error_description, error, message or a bare string. */
export function serverText(body: unknown): string | null {
  const text = findText(body, 0);
  if (text === null || text.trim() === '') return null;
  return shortened(text.trim(), MAX_SERVER_TEXT);
}

export function reasonOf({ body }: Pick<Answer, 'body'>): string {
  return serverText(body) ?? 'no reason given';
}

function findText(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 3) return null;
  if (Array.isArray(value)) {
    const texts = value
      .map((item: unknown) => validationText(item))
      .filter((text) => text !== null);
    return texts.length > 0 ? texts.join('; ') : null;
  }
  const record = value as Record<string, unknown>;
  for (const name of ['detail', 'error_description', 'error', 'message']) {
    const text = findText(record[name], depth + 1);
    if (text !== null && text !== '') return text;
  }
  return null;
}

/**
 * `{loc: ["body", "x"], msg}` of a validation error; its `input` may hold a secret and is left out.
 */
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
 * 400 and 422 are `server`; callers that send a user's own values (a start, settings) say `usage`
 * instead.
 */
export function statusError(answer: Answer, details: RequestDetails): AppError {
  const { status, contentType, body, bytes } = answer;
  // Plain text is shown, HTML is only named.
  const plain = (): string => new TextDecoder().decode(bytes.subarray(0, 4 * MAX_SERVER_TEXT));
  const other =
    contentType === ''
      ? null
      : contentType === 'text/plain'
        ? serverText(plain())
        : `(${contentType})`;
  const text = isJsonType(contentType) ? serverText(body) : other;
  const kind = KINDS[status] ?? 'server';
  const said = text === null ? '' : `: ${text}`;
  // A repetition changes neither 501 (not supported) nor 507 (no room).
  const retryable =
    status === 429 || status === 408 || (status >= 500 && status !== 501 && status !== 507);
  if (status === 404 && text === null) return wrongPlaceError(answer, details);
  const about = { ...details, status, retryable };
  if (status === 429)
    return new AppError(kind, `rate limit exceeded${said}`, {
      ...about,
      hint: 'try again later, or set a lower ACS_RATE',
    });
  if (status === 501 && text !== null)
    return new AppError(kind, `the server does not support this: ${text}`, about);
  if (status !== 500) return new AppError(kind, `the server answered ${status}${said}`, about);
  return new AppError(
    kind,
    `the server answered 500 to ${answer.request.method} ${routeOf(answer)}${said}`,
    {
      ...about,
      hint: 'its log has the cause; see whether other routes fail too: acs doctor',
    },
  );
}

/** Not by the URL class: a key that is part of the host is redacted there. */
export function routeOf({ request }: Pick<Answer, 'request'>): string {
  return request.url.replace(/^\w+:\/\/[^/]*|\?.*$/g, '');
}

export function wrongPlaceError(answer: Answer, details: RequestDetails): AppError {
  const { bytes, contentType } = answer;
  const ofType = isJsonType(contentType)
    ? 'JSON that cannot be read'
    : `an answer of type ${cut(contentType, 80) || '(none)'}`;
  const what = bytes.length === 0 ? 'an empty answer' : ofType;
  return new AppError(
    'server',
    `the server sent ${what} (status ${answer.status}) where JSON was expected`,
    {
      ...details,
      status: answer.status,
      hint: 'is this the right server? check the URL with: acs whoami',
    },
  );
}

export interface Failure {
  class: 'dns' | 'refused' | 'unreachable' | 'tls' | 'timeout' | 'reset' | 'proxy' | 'other';
  /** `no` only where the request cannot have reached the server. */
  sent: 'no' | 'maybe';
  text: string;
  hint?: string | undefined;
}

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

const PROXY_HINT = 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY';
const NETWORK_HINT = 'check the URL and the network';

export function classifyFailure(error: unknown, url: string, timeoutMs: number): Failure {
  const { proxy, status } = error as { proxy?: string; status?: number };
  if (proxy === undefined) return failureOf(error, new URL(url).host, timeoutMs, status);
  const failure = failureOf(error, `the proxy ${proxy}`, timeoutMs);
  return failure.class === 'other' ? failure : { ...failure, hint: PROXY_HINT };
}

function failureOf(error: unknown, host: string, timeoutMs: number, proxyStatus?: number): Failure {
  const { errors: [first] = [error] } = error as { errors?: unknown[] };
  const { code = '', syscall, message = String(error) } = first as NodeJS.ErrnoException;
  const isConnecting = syscall === 'connect';
  const fail = (
    of: Failure['class'],
    sent: Failure['sent'],
    text: string,
    hint?: string,
  ): Failure => {
    return { class: of, sent, text, hint };
  };
  if (TLS_CODES.test(code)) {
    const hint =
      TLS_HINTS[code] ?? 'for a private certificate authority set NODE_EXTRA_CA_CERTS to its file';
    return fail('tls', 'no', `the TLS connection to ${host} failed (${code})`, hint);
  }
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fail('dns', 'no', `the name ${host} cannot be resolved`, NETWORK_HINT);
    case 'ECONNREFUSED': {
      const hint = 'check that the server runs and the port is right';
      return fail('refused', 'no', `nothing listens at ${host} (connection refused)`, hint);
    }
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      if (!isConnecting)
        return fail('reset', 'maybe', `the connection to ${host} was lost (${code})`);
      if (code !== 'ETIMEDOUT')
        return fail('unreachable', 'no', `${host} cannot be reached (${code})`, NETWORK_HINT);
      return fail(
        'timeout',
        'no',
        `no connection to ${host} within ${timeoutMs / 1000} s`,
        `${NETWORK_HINT}, or raise --request-timeout`,
      );
    case 'ACS_SILENCE':
    case 'ACS_TOTAL': {
      const hint = 'raise --request-timeout if the server is only slow';
      const text = code === 'ACS_TOTAL' ? message : `sent nothing for ${timeoutMs / 1000} s`;
      return fail('timeout', 'maybe', `${host} ${text}`, hint);
    }
    case 'ACS_PROXY': {
      const login =
        'put a user name and password in HTTP_PROXY or HTTPS_PROXY: ' +
        'http://<user>:<password>@<host>:<port>';
      const text = `the proxy did not connect to ${host} (it answered ${proxyStatus})`;
      return fail('proxy', 'no', text, proxyStatus === 407 ? login : PROXY_HINT);
    }
    case 'ACS_PROXY_URL':
      return fail('proxy', 'no', `the URL of the proxy for ${host} is not valid`, PROXY_HINT);
    case 'ECONNRESET':
    case 'EPIPE':
      return fail('reset', 'maybe', `the connection to ${host} was cut`);
  }
  if (code.startsWith('HPE_'))
    return fail('other', 'maybe', `${host} does not speak HTTP`, 'is this the right port?');
  return fail('other', 'maybe', `the request to ${host} failed: ${cut(message, 300)}`);
}
