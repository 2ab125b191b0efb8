import type { Clock } from '../../base/clock.ts';
import { member } from '../../protocol/shape.ts';
import type { Answer, Failure } from './answer.ts';
import type { Call } from './call.ts';

export const LIMITS_MS = {
  request: 30_000,
  /** A V0 server that waits for its model answers no request for minutes (interface 12). */
  requestV0: 120_000,
  probe: 10_000,
  /** The whole probe: a server may send its answer slowly without ever being silent. */
  wholeProbe: 60_000,
  /** The servers behind an ingress of Agent Canvas start within a minute (interface 14.1). */
  startUp: 90_000,
  /** The start of a conversation, and each change of a sandbox, which waits for its runtime. */
  start: 120_000,
  send: 90_000,
  model: 120_000,
  deletion: 60_000,
  readAfterDeletion: 5_000,
  /** A request that the agent server answers when the current step has ended. */
  step: 300_000,
  interrupt: 60_000,
  /** The agent server sets a title at once, and may answer after the current step. */
  agentRename: 5_000,
  fileWrite: 120_000,
  socket: 15_000,
  /** One address of a name with several; the 250 ms of Node are too short. */
  address: 3_000,
  /** The server may have closed a kept connection that is idle for longer. */
  idleConnection: 4_000,
  pause: 60_000,
  silentPause: 5_000,
} as const;

/** An answer may take 10 times the longest silence, and as long again for each further 8 MiB. */
const SILENCES = 10;
const PART_BYTES = 8 * 1024 * 1024;

/** Limits the whole answer: a server that sends it byte by byte is never silent. */
export class AnswerLimit {
  bytes = 0;
  readonly #partMs: number;
  readonly #clock: Clock;
  #startMs: number;
  #heldAtMs: number | null = null;

  constructor(silenceMs: number, clock: Clock) {
    this.#partMs = SILENCES * silenceMs;
    this.#clock = clock;
    this.#startMs = clock.now();
  }

  get isHeld(): boolean {
    return this.#heldAtMs !== null;
  }

  set isHeld(isHeld: boolean) {
    const now = this.#clock.now();
    if (this.#heldAtMs !== null) this.#startMs += now - this.#heldAtMs;
    this.#heldAtMs = isHeld ? now : null;
  }

  /** Milliseconds of the limit that was reached; rejects when the signal aborts. */
  async reached(signal: AbortSignal): Promise<number> {
    for (;;) {
      const limitMs = this.#partMs * (1 + Math.floor(this.bytes / PART_BYTES));
      const leftMs = this.#startMs + limitMs - this.#clock.now();
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

/** A token bucket: self-hosted servers permit 10 requests a second, the cloud 100 a minute. */
export class Pace {
  readonly #limit: () => PaceLimit | null;
  readonly #clock: Clock;
  #tokens: number | null = null;
  #countedAtMs = 0;
  #reportedUntilMs = 0;
  pausedUntilMs = 0;

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

export interface Pause {
  waitMs: number;
  spreadMs: number;
  mayHaveArrived: boolean;
}

function backoffMs(tries: number): number {
  return 250 * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
}

export function pauseAfterFailure(
  { safe, stream }: Call,
  { class: of, sent }: Failure,
  tries: number,
): Pause | null {
  const mayRepeat = of === 'refused' || (of === 'reset' && safe !== 'once' && !stream?.hasBegun);
  if (!mayRepeat || tries >= TRIES) return null;
  return { waitMs: backoffMs(tries), spreadMs: 0, mayHaveArrived: sent === 'maybe' };
}

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
  // Waiting for seconds does not help.
  if (member(body, 'detail', 'code') === 'daily_conversation_limit_reached') return null;
  const waitMs = retryAfterMs(headers['retry-after'], nowMs);
  if (waitMs === null) return { ...alone, waitMs: backoff * (status === 429 ? 4 : 1) };
  // A self-hosted server counts what it refuses: clients that return together fail together.
  const spreadMs = Math.min(waitMs, 1_000) * 2 ** (tries - 1) * Math.random();
  return waitMs > LIMITS_MS.pause ? null : { ...alone, waitMs, spreadMs };
}

function retryAfterMs(header = '', nowMs: number): number | null {
  const ms = /^\d+(\.\d+)?$/.test(header.trim())
    ? Number(header) * 1000
    : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Reads the cloud's headers: the reset is in seconds since the epoch, or from now. 0: no pause. */
export function limitResetMs(headers: Record<string, string>, nowMs: number): number {
  const reset = Number(headers['x-ratelimit-reset']);
  const isUsedUp = Number(headers['x-ratelimit-remaining']) <= 0;
  if (!isUsedUp || !(reset > 0)) return 0;
  const untilMs = reset > 1e9 ? reset * 1000 : nowMs + reset * 1000;
  return Math.min(untilMs, nowMs + LIMITS_MS.pause);
}
