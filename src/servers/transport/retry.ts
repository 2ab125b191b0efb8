/** When a request is repeated, and after how long. */
import { repeatAfter500Ms } from '../quirks/passing-500.ts';
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import { LIMITS_MS } from './time-limits.ts';

/** Tries in all, the first included. */
export const TRIES = 4;

export const RETRY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * How long to wait before the request is sent again; null: the answer stands.
 * @param attempt tries so far
 * @param elapsedMs since the first try
 */
export function repeatAfterMs(
  call: Pick<Call, 'safe' | 'accept'>,
  answer: Answer,
  attempt: number,
  { nowMs, elapsedMs }: { nowMs: number; elapsedMs: number },
): number | null {
  const { status } = answer;
  if (attempt >= TRIES || call.accept?.includes(status)) return null;
  if (status === 500 && call.safe === 'read') return repeatAfter500Ms(backoffMs(attempt), elapsedMs);
  const mayRepeat = call.safe === 'once' ? status === 429 : RETRY_STATUSES.has(status);
  return mayRepeat ? retryAfterMs(answer, attempt, nowMs) : null;
}

/** 0.25 s, 0.5 s, 1 s, each between half and the whole of it: clients that failed together do not return together. */
export function backoffMs(attempt: number): number {
  return 250 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}

/** How long to wait before the next try; null: too long for a command, do not retry. */
function retryAfterMs(answer: Answer, attempt: number, nowMs: number): number | null {
  const header = answer.headers['retry-after'];
  if (isDailyQuota(answer.body)) return null;
  if (header === undefined) return backoffMs(attempt) * (answer.status === 429 ? 4 : 1);
  const seconds = /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : (Date.parse(header) - nowMs) / 1000;
  if (!Number.isFinite(seconds)) return backoffMs(attempt);
  const waitMs = Math.max(0, seconds * 1000);
  return waitMs > LIMITS_MS.pause ? null : waitMs;
}

/**
 * Added to the time that the server requests, more with each try: a self-hosted server counts what it refuses, too, so
 * clients that return together are refused together, for ever.
 */
export function spreadMs(answer: Answer, waitMs: number, attempt: number): number {
  if (answer.headers['retry-after'] === undefined) return 0; // spread already
  return Math.min(waitMs, 1_000) * 2 ** (attempt - 1) * Math.random();
}

/** `{"detail":{"code":"daily_conversation_limit_reached",…}}`: waiting seconds does not help. */
function isDailyQuota(body: unknown): boolean {
  const detail = (body as { detail?: { code?: unknown } } | null | undefined)?.detail;
  return typeof detail === 'object' && detail !== null && detail.code === 'daily_conversation_limit_reached';
}

/**
 * Until when to ask nothing more, from `X-RateLimit-Remaining` and `-Reset` (the cloud's; seconds since the epoch, or
 * from now); null: no pause.
 */
export function limitResetMs(headers: Record<string, string>, nowMs: number): number | null {
  if (headers['x-ratelimit-remaining'] === undefined || Number(headers['x-ratelimit-remaining']) > 0) return null;
  const reset = Number(headers['x-ratelimit-reset']);
  if (!Number.isFinite(reset) || reset <= 0) return null;
  const untilMs = reset > 1e9 ? reset * 1000 : nowMs + reset * 1000;
  return Math.min(untilMs, nowMs + LIMITS_MS.pause);
}
