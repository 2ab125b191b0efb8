/** The device flow of RFC 8628 as the cloud serves it (interface 1.5). No request carries a key. */
import type { AppError } from '../base/errors.ts';
import { asRecord, optionalNumber, optionalText, requiredText } from '../protocol/shape.ts';
import { read } from './shared/links.ts';
import { errorBy, isJsonType, statusError, type Answer } from './http/answer.ts';
import type { Network } from './http/network.ts';
import type { Transport } from './http/transport.ts';
import { cut } from '../base/text/well-formed.ts';

export interface DeviceCode {
  /** A secret: whoever has it gets the key. */
  device_code: string;
  user_code: string;
  /** http or https; includes the code where `needs_code` is false. */
  url: string;
  needs_code: boolean;
  expires_in_ms: number;
  interval_ms: number;
}

/** `slow-down`: the client polls too often. The interval is null where the answer has none. */
export type DevicePoll =
  | { status: 'approved'; key: string }
  | { status: 'pending' | 'slow-down'; interval_ms: number | null };

const MOST_BYTES = 65_536;
const MOST_URL_CHARACTERS = 2_000;
const MOST_SECRET_CHARACTERS = 16_384;
const PRINTABLE = /^[\x21-\x7e]+$/;
const WITH_A_KEY = 'sign in with a key: --api-key-file <file>';

export class DeviceFlow {
  readonly #app: Transport;
  readonly #network: Network;

  constructor(app: Transport, network: Network) {
    this.#app = app;
    this.#network = network;
  }

  close(): Promise<void> {
    return Promise.resolve(this.#network.close());
  }

  /** Throws `unsupported` where the server has no flow. */
  async start(): Promise<DeviceCode> {
    const answer = await this.#app.request({
      method: 'POST',
      path: '/oauth/device/authorize',
      safe: 'idempotent',
      maxBytes: MOST_BYTES,
      accept: [200, 404, 405, 501],
    });
    if (answer.status !== 200 || !isJsonType(answer.contentType)) {
      const message = 'this server has no sign-in in a browser (device flow)';
      throw errorBy(answer, 'unsupported', message, { hint: `the cloud has it; ${WITH_A_KEY}` });
    }
    return read(answer, (body) => {
      const code = asRecord(body, 'device code');
      const device_code = requiredText(code, 'device_code', 'device code');
      const user_code = requiredText(code, 'user_code', 'device code');
      const page = requiredText(code, 'verification_uri', 'device code');
      const whole = optionalText(code, 'verification_uri_complete', 'device code');
      const validS = optionalNumber(code, 'expires_in', 'device code') ?? 600;
      if (!/^[\x20-\x7e]{0,64}$/.test(user_code))
        throw refusedAnswer(answer, 'a code that is not printable');
      return {
        device_code: secretOf(answer, device_code),
        user_code,
        url: pageUrl(answer, whole ?? page),
        needs_code: whole === null,
        expires_in_ms: Math.round(Math.min(Math.max(validS, 0), 1_800)) * 1000,
        interval_ms: intervalMs(optionalNumber(code, 'interval', 'device code') ?? 5),
      };
    });
  }

  /** Throws `auth` when the code is refused or has expired. */
  async poll(deviceCode: string): Promise<DevicePoll> {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
    });
    const answer = await this.#app.request({
      method: 'POST',
      path: '/oauth/device/token',
      raw: {
        contentType: 'application/x-www-form-urlencoded',
        bytes: new TextEncoder().encode(form.toString()),
      },
      maxBytes: MOST_BYTES,
      accept: [400, 401, 403],
    });
    const record = read(answer, (body) => asRecord(body, 'answer'));
    if (answer.status === 200) {
      const key = read(answer, () => requiredText(record, 'access_token', 'answer'));
      return { status: 'approved', key: secretOf(answer, key) };
    }
    const { interval, error: code } = record;
    const interval_ms = typeof interval === 'number' ? intervalMs(interval) : null;
    if (code === 'authorization_pending') return { status: 'pending', interval_ms };
    if (code === 'slow_down') return { status: 'slow-down', interval_ms };
    const text = REFUSALS.get(code);
    if (text === undefined) throw statusError(answer);
    const hint = 'nothing was stored; `acs login` requests a new code';
    throw errorBy(answer, 'auth', text, { hint });
  }
}

/** Limits an interval to 1 s to 60 s. */
function intervalMs(seconds: number): number {
  return Math.min(Math.max(seconds, 1), 60) * 1000;
}

const REFUSALS: ReadonlyMap<unknown, string> = new Map([
  ['access_denied', 'the sign-in was refused in the browser'],
  ['expired_token', 'the code expired before it was approved'],
  ['invalid_grant', 'the server does not accept the code any longer'],
]);

function refusedAnswer(answer: Answer, what: string): AppError {
  const message = `the server sent ${what} for the sign-in`;
  return errorBy(answer, 'server', message, { hint: WITH_A_KEY });
}

/** The error does not repeat the text. */
function secretOf(answer: Answer, text: string): string {
  if (text.length <= MOST_SECRET_CHARACTERS && PRINTABLE.test(text)) return text;
  throw refusedAnswer(answer, 'a key or code that no request can carry');
}

/** A web page without credentials, and without characters that a terminal would hide. */
function pageUrl(answer: Answer, text: string): string {
  const refuse = (why: string) => refusedAnswer(answer, `an address that is not opened (${why})`);
  if (text.length > MOST_URL_CHARACTERS) throw refuse('too long');
  if (!PRINTABLE.test(text) || !URL.canParse(text)) throw refuse('not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse(`its scheme is ${cut(url.protocol, 40)}`);
  if (url.protocol === 'http:' && new URL(answer.request.url).protocol === 'https:')
    throw refuse('not encrypted');
  if (url.username !== '' || url.password !== '') throw refuse('it has a user name');
  return url.href;
}
