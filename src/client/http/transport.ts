import { setMaxListeners } from 'node:events';
import { AppError, DryRunStop, isAppError, type NamedRequest } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { REDACTED } from '../../base/text/secret-names.ts';
import { buildUrl, isLoopback, shownUrl } from './address.ts';
import {
  classifyFailure,
  isJsonType,
  meaningOf,
  parseJson,
  redirectTarget,
  unknownOutcome,
  type Answer,
  type Failure,
} from './answer.ts';
import type { Call, CallOptions } from './call.ts';
import { ACCEPTED_ENCODINGS, type Network, type Sending } from './network.ts';
import type { Redaction } from './redaction.ts';
import {
  LIMITS_MS,
  limitResetMs,
  pauseAfterAnswer,
  pauseAfterFailure,
  type Pace,
  type Pause,
} from './time-limits.ts';
import { isRecord } from '../../protocol/shape.ts';
import { shortened } from '../../base/text/well-formed.ts';

export interface TransportOptions {
  network: Network;
  baseUrl: string;
  headers: Record<string, string>;
  pace: Pace;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  requestTimeoutMs?: number;
  usualTimeoutMs?: number | undefined;
  log?: (line: string) => void;
  notice?: (text: string) => void;
  restart?: (() => Promise<unknown>) | undefined;
  refused: (answer: Answer) => Promise<AppError>;
  /** Called for a gateway's 502; true when the server behind it answers again. */
  whenStarted?: () => Promise<boolean>;
  /** Called for an answer that contradicts the facts of the server; the error if they changed. */
  probeAgain?: () => Promise<AppError | null>;
}

type Received = Omit<Answer, 'request'>;

const SAFE: Record<Call['method'], Call['safe']> = {
  GET: 'read',
  HEAD: 'read',
  OPTIONS: 'read',
  PUT: 'idempotent',
  DELETE: 'idempotent',
  POST: 'once',
  PATCH: 'once',
};

/** The bound for each `expect`, also after decoding: 100 events may hold 100 screenshots. */
const MOST_MIB = { json: 256, any: 256, bytes: 512 };
const MOST_LOGGED_CHARACTERS = 2_000;

export class Transport {
  readonly baseUrl: string;
  readonly loopback: boolean;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.baseUrl = options.baseUrl;
    this.loopback = isLoopback(options.baseUrl);
    this.#options = options;
    // Above ten listeners, one for each request in flight, Node reports a leak on stderr.
    setMaxListeners(0, options.signal);
  }

  /** Throws AppError, DryRunStop for a write in a dry run, and the reason of the signal. */
  async request({ method = 'GET', ...options }: CallOptions): Promise<Answer> {
    const call: Call = { method, safe: SAFE[method], ...options };
    try {
      return await this.#request(call);
    } catch (error) {
      const isGateway = isAppError(error) && error.details.status === 502;
      if (!isGateway || call.safe === 'once' || call.stream) throw error;
      if (!(await this.#options.whenStarted?.())) throw error;
      return await this.#request(call);
    }
  }

  async #request(call: Call): Promise<Answer> {
    const { network, mode, clock, pace, signal, restart } = this.#options;
    const url = buildUrl(this.baseUrl, call.path, call.query);
    const request = { method: call.method, url: network.redaction.text(shownUrl(url)) };
    if (mode === 'dry-run' && (call.safe !== 'read' || call.inDryRun === 'printed'))
      throw new DryRunStop([{ ...request, body: shownBody(call, network.redaction) }]);
    const firstAtMs = clock.now();
    const { delivery = { isPossible: false } } = call;
    let isLost = false;
    for (let tries = 1; ; tries++) {
      this.#report('limits the rate of requests; the next one waits', pace.pausedUntilMs);
      await pace.turn(signal);
      delivery.isPossible = true;
      const outcome = await this.#exchange(call, url);
      const pause = await this.#pauseAfter(call, outcome, tries, firstAtMs);
      if (pause === null) {
        if ('class' in outcome) throw failureError(call, outcome, request);
        const lost = isLost && ({ afterLostTry: true } as const);
        return await this.#conclude(call, { ...outcome, request, ...lost });
      }
      isLost ||= pause.mayHaveArrived;
      delivery.isPossible = isLost;
      if ('class' in outcome && outcome.class === 'refused') await restart?.();
      await clock.sleep(pause.waitMs + pause.spreadMs, signal);
    }
  }

  async #pauseAfter(
    call: Call,
    outcome: Received | Failure,
    tries: number,
    firstAtMs: number,
  ): Promise<Pause | null> {
    const { pace, clock } = this.#options;
    const nowMs = clock.now();
    if ('class' in outcome) return pauseAfterFailure(call, outcome, tries);
    pace.pauseUntil(limitResetMs(outcome.headers, nowMs));
    const times = { tries, nowMs, elapsedMs: nowMs - firstAtMs };
    const pause = await pauseAfterAnswer(call, outcome, times);
    if (pause === null) return null;
    this.#report(`answers ${outcome.status} and asks to wait`, nowMs + pause.waitMs);
    if (outcome.status === 429) pace.pauseUntil(nowMs + pause.waitMs + pause.spreadMs);
    return pause;
  }

  async #conclude(call: Call, answer: Answer): Promise<Answer> {
    const { error, contradictsFacts } = meaningOf(call, answer);
    if (contradictsFacts) {
      const change = await this.#options.probeAgain?.();
      if (change) throw change.with({ request: answer.request, ...change.details });
    }
    if (error === null) return answer;
    const shown = error === 'refusal' ? await this.#options.refused(answer) : error;
    if (call.expect === 'any') return { ...answer, error: shown };
    throw shown;
  }

  async #exchange(call: Call, firstUrl: string): Promise<Received | Failure> {
    let url = firstUrl;
    for (let hops = 0; ; hops++) {
      const outcome = await this.#send(call, url);
      if ('class' in outcome) return outcome;
      const { status } = outcome;
      if (status < 300 || status >= 400 || status === 304) return outcome;
      url = redirectTarget(outcome, url, call.method, hops);
    }
  }

  async #send(call: Call, url: string): Promise<Received | Failure> {
    const { network, clock, signal, requestTimeoutMs, headers, usualTimeoutMs } = this.#options;
    const { method, stream, expect = 'json', safe } = call;
    const silenceMs = requestTimeoutMs ?? call.timeoutMs ?? usualTimeoutMs ?? LIMITS_MS.request;
    const content = contentOf(call);
    const into = stream?.into;
    const kind = safe === 'once' || stream ? 'fresh' : 'kept';
    const startedAtMs = clock.now();
    this.#log(() => {
      const body = call.body === undefined ? '' : logged(shownBody(call, network.redaction));
      return `> ${method} ${shownUrl(url)} ${body}`;
    });
    try {
      const received = await network.send(url, kind, {
        method,
        body: content.body,
        silenceMs,
        clock,
        maxBytes: call.maxBytes ?? MOST_MIB[expect] * 1024 * 1024,
        signal,
        into:
          into &&
          ((part) => {
            stream.hasBegun = true;
            return into(part);
          }),
        headers: { ...acceptedBy(call, url), ...call.headers, ...headers, ...content.headers },
      });
      const { status, bytes } = received;
      const [type = ''] = (received.headers['content-type'] ?? '').split(';');
      const contentType = type.trim().toLowerCase();
      const body = isJsonType(contentType) ? parseJson(bytes) : undefined;
      this.#log(() => {
        const text =
          body === undefined ? `(${bytes.length} bytes)` : logged(network.redaction.value(body));
        return `< ${status} ${contentType || '(no type)'} ${clock.now() - startedAtMs} ms ${text}`;
      });
      return { ...received, contentType, body };
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error)) throw error.with({ request: { method, url: shownUrl(url) } });
      const failure = classifyFailure(error, url, silenceMs);
      this.#log(() => `< ${failure.text} (${clock.now() - startedAtMs} ms)`);
      return failure;
    }
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

function acceptedBy({ expect = 'json', stream }: Call, url: string): Record<string, string> {
  return {
    accept: expect === 'json' ? 'application/json' : '*/*',
    // Locally, encoding costs more than it saves; the length of a file is checked unencoded.
    'accept-encoding': stream || isLoopback(url) ? 'identity' : ACCEPTED_ENCODINGS,
  };
}

function shownBody({ body, raw, hidden = [] }: Call, redaction: Redaction): unknown {
  if (raw !== undefined && body === undefined)
    return `(${raw.bytes.length} bytes, ${raw.contentType})`;
  if (!isRecord(body)) return redaction.value(body ?? null);
  const masked = Object.fromEntries(
    hidden.filter((name) => name in body).map((name) => [name, REDACTED]),
  );
  return redaction.value({ ...body, ...masked });
}

function logged(body: unknown): string {
  return shortened(JSON.stringify(body), MOST_LOGGED_CHARACTERS);
}

function contentOf({ body, raw, stream }: Call): Pick<Sending, 'body' | 'headers'> {
  const upload = stream?.upload;
  if (upload !== undefined) {
    const { contentType, bytes, parts } = upload;
    const length = bytes !== null && { 'content-length': String(bytes) };
    return { body: parts(), headers: { 'content-type': contentType, ...length } };
  }
  if (raw !== undefined) return { body: raw.bytes, headers: { 'content-type': raw.contentType } };
  if (body === undefined || stream !== undefined) return { body: null, headers: {} };
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function failureError(
  { safe }: Call,
  { class: of, sent, text, hint }: Failure,
  request: NamedRequest,
): AppError {
  if (safe === 'once' && sent === 'maybe') return unknownOutcome(text, { request });
  return new AppError('network', text, { request, hint, retryable: of !== 'tls' && of !== 'dns' });
}
