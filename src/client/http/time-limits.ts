/** How long requests may take, how many are sent a second, and when one is sent again. */
import type { Clock } from '../../base/clock.ts';
import type { Answer, Failure } from './answer.ts';
import type { Call } from './call.ts';

/** Milliseconds. */
export const LIMITS_MS = {
  request: 30_000,
  /** A V0 server that waits for its model answers no request for minutes (interface 12). */
  requestV0: 120_000,
  probe: 10_000,
  /**
   * The whole probe, repeated requests included: a server may send its answer slowly without ever
   * being silent.
   */
  wholeProbe: 60_000,
  /**
   * A start of a conversation, and creating, pausing, resuming or deleting a sandbox, which waits
   * for its runtime.
   */
  start: 120_000,
  send: 90_000,
  /** An endpoint on this machine may load the model first. */
  model: 120_000,
  deletion: 60_000,
  readAfterDeletion: 5_000,
  /** A request that the agent server answers when the current step has ended. */
  step: 300_000,
  interrupt: 60_000,
  /**
   * A rename at the agent server: the title is set at once, and the answer may come after the
   * current step.
   */
  agentRename: 5_000,
  fileWrite: 120_000,
  socket: 15_000,
  /**
   * One address of a name with several; the 250 ms of Node are less than a distant server takes.
   */
  address: 3_000,
  /** A kept connection without a request: the other end may have closed one that is older. */
  idleConnection: 4_000,
  /** The longest `Retry-After` that is waited for. */
  pause: 60_000,
  /** Longer pauses are announced by a notice. */
  silentPause: 5_000,
} as const;

/**
 * An answer may take so many times the longest silence, and as long again for each of these parts
 * of it.
 */
const SILENCES = 10;
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Ends what a silence does not: an answer that is never complete, because the server sends it byte
 * by byte.
 */
export class AnswerLimit {
  /** Of the body, sent or received. */
  bytes = 0;
  readonly #partMs: number;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  #heldMs = 0;
  #heldAtMs: number | null = null;

  constructor(silenceMs: number, clock: Clock) {
    this.#partMs = SILENCES * silenceMs;
    this.#clock = clock;
    this.#startedAtMs = clock.now();
  }

  get isHeld(): boolean {
    return this.#heldAtMs !== null;
  }

  /** Whether acs, and not the server, is what the request waits for. */
  set isHeld(isHeld: boolean) {
    const now = this.#clock.now();
    if (this.#heldAtMs !== null) this.#heldMs += now - this.#heldAtMs;
    this.#heldAtMs = isHeld ? now : null;
  }

  /** Milliseconds of the limit that was reached; rejects when the signal aborts. */
  async reached(signal: AbortSignal): Promise<number> {
    for (;;) {
      const limitMs = this.#partMs * (1 + Math.floor(this.bytes / PART_BYTES));
      const leftMs = this.#startedAtMs + this.#heldMs + limitMs - this.#clock.now();
      if (leftMs <= 0 && !this.isHeld) return limitMs;
      await this.#clock.sleep(this.isHeld ? this.#partMs : leftMs, signal);
    }
  }
}

export interface PaceLimit {
  perSecond: number;
  burst: number;
}

export const PACE_LIMITS = {
  'self-hosted': { perSecond: 8, burst: 10 },
  cloud: { perSecond: 1.5, burst: 10 },
} as const satisfies Record<string, PaceLimit>;

/**
 * A token bucket: a self-hosted server answers 429 above 10 requests a second, the cloud above 100
 * a minute.
 */
export class Pace {
  readonly #limit: () => PaceLimit | null;
  readonly #clock: Clock;
  #tokens: number | null = null;
  #countedAtMs = 0;
  #reportedUntilMs = 0;
  /** Milliseconds since the epoch. */
  pausedUntilMs = 0;

  /** @param limit null: none */
  constructor(limit: () => PaceLimit | null, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  async turn(signal: AbortSignal): Promise<void> {
    for (let waitMs = this.#take(); waitMs > 0; waitMs = this.#take())
      await this.#clock.sleep(waitMs, signal);
    signal.throwIfAborted();
  }

  pauseUntil(timeMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, timeMs);
  }

  /** Milliseconds; 0 unless this request is the first of those that wait together. */
  unreported(untilMs: number): number {
    const now = this.#clock.now();
    if (untilMs - now <= LIMITS_MS.silentPause) return 0;
    const isFirst = now >= this.#reportedUntilMs;
    this.#reportedUntilMs = Math.max(this.#reportedUntilMs, untilMs);
    return isFirst ? untilMs - now : 0;
  }

  /** 0, or the milliseconds after which to try again. */
  #take(): number {
    const now = this.#clock.now();
    if (now < this.pausedUntilMs) return this.pausedUntilMs - now;
    const limit = this.#limit();
    if (limit === null) return 0;
    const refill = ((now - this.#countedAtMs) / 1000) * limit.perSecond;
    this.#tokens = Math.min(limit.burst, (this.#tokens ?? limit.burst) + refill);
    this.#countedAtMs = now;
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) / limit.perSecond) * 1000);
    this.#tokens -= 1;
    return 0;
  }
}

const TRIES = 4;
export const RETRY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * 0.25 s, 0.5 s, 1 s, each between half and the whole of it: clients that failed together do not
 * return together.
 */
function backoffMs(tries: number): number {
  return 250 * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
}

export interface Pause {
  waitMs: number;
  /** Added to the wait. */
  spreadMs: number;
  /** The server may have executed the request. */
  mayHaveArrived: boolean;
}

/** Null: the failure stands. */
export function pauseAfterFailure(
  { safe, stream }: Call,
  { class: of, sent }: Failure,
  tries: number,
): Pause | null {
  // An unresolvable name and an untrusted certificate stay so; a server that sent nothing was
  // waited for already.
  const mayRepeat = of === 'refused' || (of === 'reset' && safe !== 'once' && !stream?.hasBegun);
  if (!mayRepeat || tries >= TRIES) return null;
  return { waitMs: backoffMs(tries), spreadMs: 0, mayHaveArrived: sent === 'maybe' };
}

/** Null: the answer stands. */
export async function pauseAfterAnswer(
  { safe, accept }: Call,
  { status, headers, body }: Pick<Answer, 'status' | 'headers' | 'body'>,
  { tries, nowMs, elapsedMs }: { tries: number; nowMs: number; elapsedMs: number },
): Promise<Pause | null> {
  if (tries >= TRIES || accept?.includes(status)) return null;
  const backoff = backoffMs(tries);
  const alone = { waitMs: backoff, spreadMs: 0, mayHaveArrived: status >= 500 };
  if (status === 500 && safe === 'read') {
    const { mayRepeat500 } = await import('./quirks/passing-500.ts');
    return mayRepeat500(elapsedMs + backoff) ? alone : null;
  }
  if (safe === 'once' ? status !== 429 : !RETRY_STATUSES.has(status)) return null;
  // `{"detail":{"code":"daily_conversation_limit_reached",…}}`: waiting seconds does not help.
  const { detail } = (body ?? {}) as { detail?: { code?: unknown } | null };
  if (detail?.code === 'daily_conversation_limit_reached') return null;
  const header = headers['retry-after'];
  if (header === undefined) return { ...alone, waitMs: backoff * (status === 429 ? 4 : 1) };
  const seconds = /^\d+(\.\d+)?$/.test(header.trim())
    ? Number(header)
    : (Date.parse(header) - nowMs) / 1000;
  const waitMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : backoff;
  // A self-hosted server counts what it refuses: clients that return together would be refused
  // together, for ever.
  const spreadMs = Math.min(waitMs, 1_000) * 2 ** (tries - 1) * Math.random();
  return waitMs > LIMITS_MS.pause ? null : { ...alone, waitMs, spreadMs };
}

/** From the cloud's headers: the reset is in seconds since the epoch, or from now. 0: no pause. */
export function limitResetMs(headers: Record<string, string>, nowMs: number): number {
  if (
    headers['x-ratelimit-remaining'] === undefined ||
    Number(headers['x-ratelimit-remaining']) > 0
  )
    return 0;
  const reset = Number(headers['x-ratelimit-reset']);
  if (!Number.isFinite(reset) || reset <= 0) return 0;
  const untilMs = reset > 1e9 ? reset * 1000 : nowMs + reset * 1000;
  return Math.min(untilMs, nowMs + LIMITS_MS.pause);
}
