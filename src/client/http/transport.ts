/**
 * Requests to one server. Each call declares whether it may be repeated; a create or a message is
 * sent once.
 */
import { setMaxListeners } from 'node:events';
import { AppError, DryRunStop, isAppError, type RequestDetails } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { REDACTED } from '../../base/text/secret-names.ts';
import { buildUrl, isLoopback, shownUrl } from './address.ts';
import {
  classifyFailure,
  isJsonType,
  serverText,
  statusError,
  wrongPlaceError,
  type Answer,
  type Failure,
} from './answer.ts';
import type { Call } from './call.ts';
import { ACCEPTED_ENCODINGS, type Network } from './network.ts';
import type { Redaction } from './redaction.ts';
import {
  backoffMs,
  LIMITS_MS,
  limitResetMs,
  repeatAfter,
  TRIES,
  type Pace,
} from './time-limits.ts';
import { shortened } from '../../base/text/well-formed.ts';

export interface TransportOptions {
  network: Network;
  baseUrl: string;
  headers: Record<string, string>;
  pace: Pace;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  /** Given by the user; undefined: the value of the call, or `usualTimeoutMs`. */
  requestTimeoutMs?: number;
  usualTimeoutMs?: number | undefined;
  log?: (line: string) => void;
  notice?: (text: string) => void;
  /** Called before a refused connection is tried again. */
  restart?: (() => Promise<unknown>) | undefined;
  /**
   * Makes the error of a 401 or 403: whether the key is refused is judged by a probe, not by any
   * answer.
   */
  refused: (answer: Answer, details: RequestDetails) => Promise<AppError>;
  /**
   * Called for a 404, 405, 422 or HTML answer, which may contradict cached facts; returns the error
   * if it does.
   */
  surprised?: () => Promise<AppError | null>;
}

/** By `expect`, before and after decoding. A page of 100 events may hold as many screenshots. */
const MOST_MIB = { json: 256, any: 256, bytes: 512 };
const MOST_REDIRECTS = 5;
const MOST_LOGGED_CHARACTERS = 2_000;

export class Transport {
  readonly baseUrl: string;
  readonly loopback: boolean;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.baseUrl = options.baseUrl;
    this.loopback = isLoopback(options.baseUrl);
    this.#options = options;
    // Each request in flight adds a listener; above ten Node reports a leak on stderr.
    setMaxListeners(0, options.signal);
  }

  /**
   * @throws AppError by status or failure; DryRunStop instead of a write in a dry run; the reason
   * of the signal
   */
  async request(call: Call): Promise<Answer> {
    const { network, mode, clock, pace, signal } = this.#options;
    const url = buildUrl(this.baseUrl, call.path, call.query);
    const request = { method: call.method, url: network.redaction.text(shownUrl(url)) };
    if (mode === 'dry-run' && (call.safe !== 'read' || call.inDryRun === 'printed'))
      throw new DryRunStop([{ ...request, body: shownBody(call, network.redaction) }]);
    const firstAtMs = clock.now();
    const delivery = call.delivery ?? { isPossible: false };
    let afterLostTry: Pick<Answer, 'afterLostTry'> = {};
    for (let attempt = 1; ; attempt++) {
      this.#report('limits the rate of requests; the next one waits', pace.pausedUntilMs);
      await pace.turn(signal);
      delivery.isPossible = true;
      const outcome = await this.#exchange(call, url);
      let pauseMs = backoffMs(attempt);
      if ('sent' in outcome) {
        const { class: of, sent, text, hint } = outcome;
        // An unresolvable name and an untrusted certificate stay so; a server that sent nothing was
        // waited for already.
        const mayRepeat =
          of === 'refused' || (of === 'reset' && call.safe !== 'once' && !call.stream?.hasBegun);
        if (attempt >= TRIES || !mayRepeat) {
          if (call.safe === 'once' && sent === 'maybe') throw unknownOutcome(text, { request });
          throw new AppError('network', text, {
            request,
            hint,
            retryable: of !== 'tls' && of !== 'dns',
          });
        }
        if (sent === 'maybe') afterLostTry = { afterLostTry: true };
        if (of === 'refused') await this.#options.restart?.();
      } else {
        const answer: Answer = { ...outcome, ...afterLostTry, request };
        const nowMs = clock.now();
        pace.pauseUntil(limitResetMs(answer.headers, nowMs));
        const repeat = await repeatAfter(call, answer, attempt, {
          nowMs,
          elapsedMs: nowMs - firstAtMs,
        });
        if (repeat === null) return await this.#checked(call, answer);
        if (answer.status >= 500) afterLostTry = { afterLostTry: true };
        this.#report(`answers ${answer.status} and asks to wait`, nowMs + repeat.waitMs);
        pauseMs = repeat.waitMs + repeat.spreadMs;
        if (answer.status === 429) pace.pauseUntil(nowMs + pauseMs);
      }
      delivery.isPossible = afterLostTry.afterLostTry === true;
      await clock.sleep(pauseMs, signal);
    }
  }

  /** Redirects are followed on the same origin: keys are sent to one origin only. */
  async #exchange(call: Call, firstUrl: string): Promise<Omit<Answer, 'request'> | Failure> {
    const {
      network,
      clock,
      signal,
      requestTimeoutMs,
      usualTimeoutMs = LIMITS_MS.request,
      headers,
    } = this.#options;
    const { method, stream, expect = 'json', safe } = call;
    const silenceMs = requestTimeoutMs ?? call.timeoutMs ?? usualTimeoutMs;
    const maxBytes = call.maxBytes ?? MOST_MIB[expect] * 1024 * 1024;
    const contentType = stream?.upload?.contentType ?? call.raw?.contentType ?? 'application/json';
    const receive = stream?.into;
    const into =
      receive &&
      ((part: Uint8Array): Promise<void> => {
        stream.hasBegun = true;
        return receive(part);
      });
    let url = firstUrl;
    for (let hops = 0; ; hops++) {
      const json = call.body === undefined ? null : JSON.stringify(call.body);
      const body =
        stream?.upload?.parts() ?? call.raw?.bytes ?? (stream === undefined ? json : null);
      const sending = {
        method,
        body,
        silenceMs,
        clock,
        maxBytes,
        signal,
        into,
        headers: {
          accept: expect === 'json' ? 'application/json' : '*/*',
          // On the same machine encoding costs more than it saves; the length of a file is not that
          // of its encoding.
          'accept-encoding':
            stream !== undefined || isLoopback(url) ? 'identity' : ACCEPTED_ENCODINGS,
          ...call.headers,
          ...headers,
          ...(body !== null && { 'content-type': contentType }),
          ...(stream?.upload?.bytes != null && { 'content-length': String(stream.upload.bytes) }),
        },
      };
      const startedAtMs = clock.now();
      this.#log(() => {
        const shown = call.body === undefined ? '' : logged(shownBody(call, network.redaction));
        return `> ${method} ${shownUrl(url)} ${shown}`;
      });
      let answer: Omit<Answer, 'request'>;
      try {
        const received = await network.send(
          url,
          safe === 'once' || stream ? 'fresh' : 'kept',
          sending,
        );
        const type =
          (received.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
        answer = {
          ...received,
          contentType: type,
          body: isJsonType(type) ? parsed(received.bytes) : undefined,
        };
      } catch (error) {
        signal.throwIfAborted();
        if (isAppError(error)) {
          const request = { method, url: shownUrl(url) };
          throw new AppError(error.kind, error.message, { ...error.details, request });
        }
        const failure = classifyFailure(error, url, silenceMs);
        this.#log(() => `< ${failure.text} (${clock.now() - startedAtMs} ms)`);
        return failure;
      }
      this.#log(() => {
        const { body: given, bytes, status, contentType: type } = answer;
        const shown =
          given === undefined ? `(${bytes.length} bytes)` : logged(network.redaction.value(given));
        return `< ${status} ${type || '(no type)'} ${clock.now() - startedAtMs} ms ${shown}`;
      });
      if (answer.status < 300 || answer.status >= 400 || answer.status === 304) return answer;
      url = redirectTarget(answer, url, method, hops);
    }
  }

  async #checked(call: Call, answer: Answer): Promise<Answer> {
    const { status, request } = answer;
    const isGood = status >= 200 && status < 300;
    if (call.expect === 'any')
      return isGood ? answer : { ...answer, error: await this.#errorOf(call, answer) };
    const isJson = isJsonType(answer.contentType) && answer.body !== undefined;
    const isEmpty = status === 204 && answer.bytes.length === 0;
    if (
      isGood &&
      (call.expect === 'bytes' ? !answer.contentType.startsWith('text/html') : isJson || isEmpty)
    )
      return answer;
    const hasNoRoute =
      (status === 404 && serverText(answer.body) === 'Not Found') || status === 405;
    const isAccepted = call.accept?.includes(status) === true;
    const isWrongPlace = isGood || ((status === 404 || status === 405) && !isJson);
    const isSurprise = hasNoRoute || status === 422 || (isWrongPlace && !isAccepted);
    if (isSurprise && !(isAccepted && call.mayBeMissing)) {
      const changed = await this.#options.surprised?.();
      if (changed)
        throw new AppError(changed.kind, changed.message, { request, ...changed.details });
    }
    if (isAccepted) return answer;
    throw isWrongPlace ? wrongPlaceError(answer, { request }) : await this.#errorOf(call, answer);
  }

  async #errorOf({ safe }: Call, answer: Answer): Promise<AppError> {
    const { status, request } = answer;
    if (status === 401 || status === 403)
      return await this.#options.refused(answer, { request, status });
    const isJson = isJsonType(answer.contentType) && answer.body !== undefined;
    const isGateway = status === 504 || (status === 502 && !isJson);
    if (safe !== 'once' || !isGateway) return statusError(answer, { request });
    // A gateway timed out; the server behind it may still execute the request.
    return unknownOutcome(`a gateway answered ${status}`, { request, status });
  }

  #report(why: string, untilMs: number): void {
    const waitMs = this.#options.pace.unreported(untilMs);
    if (waitMs > 0)
      this.#options.notice?.(
        `${new URL(this.baseUrl).origin} ${why}: ${Math.ceil(waitMs / 1000)} s`,
      );
  }

  #log(line: () => string): void {
    const { log, network } = this.#options;
    log?.(network.redaction.text(line()).trimEnd());
  }
}

function shownBody({ body, raw, hidden = [] }: Call, redaction: Redaction): unknown {
  if (raw !== undefined && body === undefined)
    return `(${raw.bytes.length} bytes, ${raw.contentType})`;
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return redaction.value(body ?? null);
  const masked = Object.fromEntries(
    hidden.filter((name) => name in body).map((name) => [name, REDACTED]),
  );
  return redaction.value({ ...body, ...masked });
}

function logged(body: unknown): string {
  return shortened(JSON.stringify(body), MOST_LOGGED_CHARACTERS);
}

/** Undefined for JSON that cannot be read: the reader of the answer reports it. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** A redirect to another origin is an error, also from http to https. */
function redirectTarget(
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
  url: string,
  method: Call['method'],
  hops: number,
): string {
  const location = headers['location'] ?? '';
  const target = URL.canParse(location, url) ? new URL(location, url) : null;
  const isOwn = target === null || target.origin === new URL(url).origin;
  const keepsMethod = status === 307 || status === 308 || ['GET', 'HEAD'].includes(method);
  if (target !== null && isOwn && keepsMethod && hops < MOST_REDIRECTS) return target.href;
  const where = target === null ? 'nowhere' : shownUrl(target.origin + target.pathname);
  throw new AppError('server', `the server redirects to ${where}, which acs does not follow`, {
    status,
    request: { method, url: shownUrl(url) },
    hint: isOwn
      ? 'is this the right server?'
      : `if that is your server, use it as the URL: ${target.origin}`,
  });
}

function unknownOutcome(what: string, details: RequestDetails): AppError {
  const message = `${what}; whether the server acted on the request is not known`;
  return new AppError('unknown-outcome', message, {
    ...details,
    hint: 'look before trying again',
    retryable: false,
  });
}
