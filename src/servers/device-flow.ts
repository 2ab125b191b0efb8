/**
 * Sign-in in a browser: the device flow of RFC 8628 as the cloud serves it (interface 1.5). No request carries a key.
 * Everything that the server sends is checked and bounded here.
 */
import { AppError } from '../errors.ts';
import { asRecord, isRecord, optionalNumber, optionalText, requiredText } from '../protocol/shape.ts';
import { presenceOf, type Presence } from './features.ts';
import { read } from './links.ts';
import { isJsonType, statusError, type Answer } from './transport/answer.ts';
import { LIMITS_MS } from './transport/time-limits.ts';
import type { Transport } from './transport/transport.ts';

export interface DeviceFlow {
  /** As the document of the server shows it; `unknown` where it serves none. */
  presence(): Promise<Presence>;
  /** Requests a code. Throws `unsupported`, before it requests one where the document shows that, without a flow. */
  start(): Promise<DeviceCode>;
  /** Throws `auth` when the code is refused or has expired. */
  poll(deviceCode: string): Promise<DevicePoll>;
  close(): Promise<void>;
}

export interface DeviceCode {
  /** A secret: whoever has it gets the key. */
  device_code: string;
  /** Printable ASCII. */
  user_code: string;
  /** http or https; includes the code where `needs_code` is false. */
  url: string;
  needs_code: boolean;
  expires_in_ms: number;
  interval_ms: number;
}

/** `slow-down`: the client polls too often. The interval is null where the answer has none. */
export type DevicePoll =
  { status: 'approved'; key: string } | { status: 'pending' | 'slow-down'; interval_ms: number | null };

/** In seconds. The cloud has an interval of 5 to 60 and codes that are valid for 600. */
const INTERVAL_S = { least: 1, usual: 5, most: 60 };
const VALIDITY_S = { usual: 600, most: 1_800 };
/** As the probe reads of a document; an answer of the flow is far shorter than its limit. */
const MOST_BYTES = { document: 16 * 1024 * 1024, answer: 65_536 };
const MOST_URL_CHARACTERS = 2_000;
const MOST_CODE_CHARACTERS = 64;
const MOST_SECRET_CHARACTERS = 16_384;
/** What a URL, a header and a form can have. */
const PRINTABLE = /^[\x21-\x7e]+$/;
const WITH_A_KEY = 'sign in with a key: --api-key-file <file>';

export function createDeviceFlow(app: Transport, close: () => Promise<void>): DeviceFlow {
  let shown: Promise<Presence> | null = null;
  const known = () => (shown ??= presence(app));
  return {
    presence: known,
    async start() {
      if ((await known()) === 'absent') throw noDeviceFlow({ server: app.baseUrl });
      return await start(app);
    },
    poll: (deviceCode) => poll(app, deviceCode),
    close,
  };
}

async function presence(app: Transport): Promise<Presence> {
  const answer = await app.request({
    method: 'GET',
    path: '/openapi.json',
    safe: 'read',
    timeoutMs: LIMITS_MS.probe,
    maxBytes: MOST_BYTES.document,
    accept: [200, 401, 403, 404, 405, 410, 500],
  });
  const paths = answer.status === 200 && isRecord(answer.body) ? answer.body['paths'] : null;
  return presenceOf(isRecord(paths) ? '/oauth/device/authorize' in paths : null);
}

async function start(app: Transport): Promise<DeviceCode> {
  const answer = await app.request({
    method: 'POST',
    path: '/oauth/device/authorize',
    // A code that is not used expires.
    safe: 'idempotent',
    maxBytes: MOST_BYTES.answer,
    accept: [200, 404, 405, 501],
  });
  if (answer.status !== 200 || !isJsonType(answer.contentType))
    throw noDeviceFlow({ status: answer.status, request: answer.request });
  const record = read(answer, (body) => {
    const given = asRecord(body, 'device code');
    return {
      device_code: requiredText(given, 'device_code', 'device code'),
      user_code: requiredText(given, 'user_code', 'device code'),
      page: requiredText(given, 'verification_uri', 'device code'),
      whole: optionalText(given, 'verification_uri_complete', 'device code'),
      expires_in: optionalNumber(given, 'expires_in', 'device code'),
      interval: optionalNumber(given, 'interval', 'device code'),
    };
  });
  if (record.user_code.length > MOST_CODE_CHARACTERS || !/^[\x20-\x7e]+$/.test(record.user_code)) {
    throw refusedAnswer(answer, 'a code that is not printable');
  }
  return {
    device_code: secretOf(answer, record.device_code),
    user_code: record.user_code,
    url: pageUrl(answer, record.whole ?? record.page),
    needs_code: record.whole === null,
    expires_in_ms: Math.round(Math.min(Math.max(record.expires_in ?? VALIDITY_S.usual, 0), VALIDITY_S.most)) * 1000,
    interval_ms: intervalMs(record.interval ?? INTERVAL_S.usual),
  };
}

async function poll(app: Transport, deviceCode: string): Promise<DevicePoll> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
  });
  const answer = await app.request({
    method: 'POST',
    path: '/oauth/device/token',
    raw: { contentType: 'application/x-www-form-urlencoded', bytes: new TextEncoder().encode(form.toString()) },
    // The server sets the interval of requests; it returns a key once.
    safe: 'once',
    maxBytes: MOST_BYTES.answer,
    accept: [400, 401, 403],
  });
  const record = read(answer, (body) => asRecord(body, 'answer'));
  if (answer.status === 200) {
    const key = read(answer, () => requiredText(record, 'access_token', 'answer'));
    return { status: 'approved', key: secretOf(answer, key) };
  }
  const interval = record['interval'];
  const interval_ms = typeof interval === 'number' ? intervalMs(interval) : null;
  if (record['error'] === 'authorization_pending') return { status: 'pending', interval_ms };
  if (record['error'] === 'slow_down') return { status: 'slow-down', interval_ms };
  throw refusal(answer, record['error']);
}

/** Bounded, so that neither zero nor an enormous number of seconds sets the interval of requests. */
function intervalMs(seconds: number): number {
  return Math.min(Math.max(seconds, INTERVAL_S.least), INTERVAL_S.most) * 1000;
}

const REFUSALS: Readonly<Record<string, string>> = {
  access_denied: 'the sign-in was refused in the browser',
  expired_token: 'the code expired before it was approved',
  invalid_grant: 'the server does not accept the code any longer',
};

function refusal(answer: Answer, word: unknown): AppError {
  const { status, request } = answer;
  const text = typeof word === 'string' && Object.hasOwn(REFUSALS, word) ? REFUSALS[word] : undefined;
  if (text === undefined) return statusError(answer, { request });
  return new AppError('auth', text, { status, request, hint: 'nothing was stored; `acs login` requests a new code' });
}

function noDeviceFlow(details: { server: string } | Pick<Answer, 'status' | 'request'>): AppError {
  return new AppError('unsupported', 'this server has no sign-in in a browser (device flow)', {
    ...details,
    hint: `the cloud has it; ${WITH_A_KEY}`,
  });
}

function refusedAnswer({ status, request }: Answer, what: string): AppError {
  return new AppError('server', `the server sent ${what} for the sign-in`, { status, request, hint: WITH_A_KEY });
}

/** A text that a header or a form can carry. The error does not repeat it. */
function secretOf(answer: Answer, text: string): string {
  if (text.length <= MOST_SECRET_CHARACTERS && PRINTABLE.test(text)) return text;
  throw refusedAnswer(answer, 'a key or code that no request can carry');
}

/** An address that a browser may be given: a web page, without credentials, and nothing that a terminal would hide. */
function pageUrl(answer: Answer, text: string): string {
  const refuse = (why: string) => refusedAnswer(answer, `an address that is not opened (${why})`);
  if (text.length > MOST_URL_CHARACTERS) throw refuse('too long');
  if (!PRINTABLE.test(text) || !URL.canParse(text)) throw refuse('not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse(`its scheme is ${url.protocol.slice(0, 40)}`);
  if (url.protocol === 'http:' && new URL(answer.request.url).protocol === 'https:') throw refuse('not encrypted');
  if (url.username !== '' || url.password !== '') throw refuse('it has a user name');
  return url.href;
}
