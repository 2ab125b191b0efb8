/**
 * Requests to one server (the app server, or the agent server of one sandbox): its headers, its pace, its retries,
 * its errors. Each call declares whether it may be repeated; a create or a message is sent once.
 */
import { AppError } from '../../errors.ts';
import type { RequestDetails } from '../../errors.ts';
import { isJsonType, serverText, statusError, wrongPlaceError } from './answer.ts';
import type { Answer } from './answer.ts';
import { buildUrl, isLoopback, shownUrl } from './address.ts';
import type { Call, TransportOptions } from './call.ts';
import { failureError } from './failure.ts';
import type { Failure } from './failure.ts';
import { DryRunStop, shownBody } from './dry-run.ts';
import { createExchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { backoffMs, limitResetMs, repeatAfterMs, spreadMs, TRIES } from './retry.ts';
import { LIMITS_MS } from './time-limits.ts';

export interface Transport {
  readonly baseUrl: string;
  readonly loopback: boolean;
  request(call: Call): Promise<Answer>;
}

export function createTransport(options: TransportOptions): Transport {
  const exchange = createExchange(options);
  return {
    baseUrl: options.baseUrl,
    loopback: isLoopback(options.baseUrl),
    request: (call) => requestWithRetries(options, exchange, call),
  };
}

async function requestWithRetries(options: TransportOptions, exchange: Exchange, call: Call): Promise<Answer> {
  const url = buildUrl(options.baseUrl, call.path, call.query);
  const request = { method: call.method, url: options.network.redaction.text(shownUrl(url)) };
  const details: RequestDetails = { request };
  if (options.mode === 'dry-run' && (call.safe !== 'read' || call.inDryRun === 'printed'))
    throw dryRunStop(options, call, url);
  const firstAtMs = options.clock.now();
  let afterLostTry: Pick<Answer, 'afterLostTry'> = {};
  for (let attempt = 1; ; attempt++) {
    reportLongWait(options, 'limits how often it is asked; the next request waits', options.pace.pausedUntilMs());
    await options.pace.turn(options.signal);
    options.signal.throwIfAborted();
    setDelivery(call, true);
    const outcome = await exchange(call, url);
    let pauseMs: number;
    if ('failure' in outcome) {
      if (attempt >= TRIES || !mayRepeatFailure(call, outcome.failure)) throw giveUp(call, outcome.failure, details);
      if (outcome.failure.sent === 'maybe') afterLostTry = { afterLostTry: true };
      pauseMs = backoffMs(attempt);
    } else {
      const answer: Answer = { ...outcome.answer, ...afterLostTry, request };
      const nowMs = options.clock.now();
      const resetMs = limitResetMs(answer.headers, nowMs);
      if (resetMs !== null) options.pace.pauseUntil(resetMs);
      const waitMs = repeatAfterMs(call, answer, attempt, { nowMs, elapsedMs: nowMs - firstAtMs });
      if (waitMs === null) return await judge(options, call, answer, details);
      if (answer.status >= 500) afterLostTry = { afterLostTry: true };
      reportLongWait(options, `answers ${answer.status} and asks to wait`, nowMs + waitMs);
      pauseMs = waitMs + spreadMs(answer, waitMs, attempt);
      if (answer.status === 429) options.pace.pauseUntil(nowMs + pauseMs);
    }
    setDelivery(call, afterLostTry.afterLostTry === true);
    await options.clock.sleep(pauseMs, options.signal);
  }
}

function setDelivery({ delivery }: Call, isPossible: boolean): void {
  if (delivery !== undefined) delivery.isPossible = isPossible;
}

/** @param why what the server does, in words */
function reportLongWait({ pace, clock, notice, baseUrl }: TransportOptions, why: string, untilMs: number): void {
  const waitMs = untilMs - clock.now();
  if (waitMs <= LIMITS_MS.silentPause || !pace.isNews(untilMs)) return;
  notice?.(`${new URL(baseUrl).origin} ${why}: ${Math.ceil(waitMs / 1000)} s`);
}

function dryRunStop(options: TransportOptions, call: Call, url: string): DryRunStop {
  const { redaction } = options.network;
  return new DryRunStop([
    { method: call.method, url: redaction.text(shownUrl(url)), body: shownBody(call, redaction) },
  ]);
}

function mayRepeatFailure(call: Call, failure: Failure): boolean {
  // An unresolvable name and an untrusted certificate stay so; a server that sent nothing was waited for already.
  return failure.class === 'refused' || (failure.class === 'reset' && call.safe !== 'once' && !call.stream?.hasBegun);
}

function giveUp(call: Call, failure: Failure, details: RequestDetails): AppError {
  if (call.safe === 'once' && failure.sent === 'maybe') {
    return new AppError('unknown-outcome', `${failure.text}; whether the server acted on the request is not known`, {
      ...details,
      hint: 'look before trying again',
      retryable: false,
    });
  }
  return failureError(failure, details);
}

/** Throws when the server differs from its facts. */
async function surprise(options: TransportOptions, details: RequestDetails): Promise<void> {
  const changed = await options.surprised?.();
  if (changed) throw new AppError(changed.kind, changed.message, { ...details, ...changed.details });
}

/** Returns a successful answer, or throws the error of another one. */
async function judge(options: TransportOptions, call: Call, answer: Answer, details: RequestDetails): Promise<Answer> {
  const { status } = answer;
  const isGood = status >= 200 && status < 300;
  if (call.expect === 'any')
    return isGood ? answer : { ...answer, error: await errorOf(options, call, answer, details) };
  const noRoute = (status === 404 && serverText(answer.body) === 'Not Found') || status === 405;
  if (call.accept?.includes(status)) {
    if ((noRoute || status === 422) && call.mayBeMissing !== true) await surprise(options, details);
    return answer;
  }
  const json = isJsonType(answer.contentType) && answer.body !== undefined;
  if (isGood) {
    if (call.expect === 'bytes') {
      if (!answer.contentType.startsWith('text/html')) return answer;
    } else if (json || (status === 204 && answer.bytes.length === 0)) return answer;
    await surprise(options, details);
    throw wrongPlaceError(answer, details);
  }
  if (status === 422) await surprise(options, details);
  if (status === 404 || status === 405) {
    if (!json || noRoute) await surprise(options, details);
    if (!json) throw wrongPlaceError(answer, details);
  }
  throw await errorOf(options, call, answer, details);
}

async function errorOf(
  options: TransportOptions,
  call: Call,
  answer: Answer,
  details: RequestDetails,
): Promise<AppError> {
  const { status } = answer;
  if (status === 401 || status === 403) return await options.refused(answer, { ...details, status });
  const isGateway =
    status === 504 || (status === 502 && !(isJsonType(answer.contentType) && answer.body !== undefined));
  if (call.safe !== 'once' || !isGateway) return statusError(answer, details);
  // A gateway timed out; the server behind it may still execute the request.
  return new AppError(
    'unknown-outcome',
    `a gateway answered ${status}; whether the server acted on the request is not known`,
    { ...details, status, hint: 'look before trying again' },
  );
}
