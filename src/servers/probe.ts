/**
 * Which dialects a server serves and which features it has (interface 9). The document at /openapi.json has both; where
 * it is not served or not understood, the answers of a few routes show the dialects, and every feature is unknown.
 * Unknown paths answer HTML with 200 where a frontend is mounted, so only JSON counts.
 */
import { AppError } from '../errors.ts';
import { beforeTime } from '../runs/deadline.ts';
import type { Dialect } from '../domain/conversation.ts';
import { isRecord } from '../protocol/shape.ts';
import { documentFacts, isAgentServer, type DocumentFacts } from './probe-document.ts';
import { FEATURES, type Features } from './features.ts';
import { keyError, type KeyInUse } from './key-error.ts';
import { isJsonType, type Answer } from './transport/answer.ts';
import { RETRY_STATUSES } from './transport/retry.ts';
import type { Transport } from './transport/transport.ts';
import type { ConnectOptions } from './connect-options.ts';
import { LIMITS_MS } from './transport/time-limits.ts';

export interface ProbeFacts {
  format: 2;
  dialects: Dialect[];
  flavour: 'local' | 'self-hosted' | 'cloud' | null;
  version: string | null;
  features: Features;
  /** Members that a V1 start takes; null where no document lists them. */
  v1_start_members: string[] | null;
  /** Whether the server has started a conversation with an id that the caller chose. */
  echoes_ids: boolean;
  probed_at_ms: number;
}

/** The largest recorded document has 0.8 MB. */
const MOST_PROBE_BYTES = 16 * 1024 * 1024;
/** All but transient ones: a request that fails so is repeated, and is an error when it still fails. */
const ANSWERS = Array.from({ length: 500 }, (_, index) => index + 100).filter((status) => !RETRY_STATUSES.has(status));

interface Answers {
  document: Answer | AppError;
  webClient: Answer | AppError;
  count: Answer | AppError;
  options: Answer | AppError;
}

/**
 * Requests the four routes at once. `for-now`: the document was not understood this time, so the facts must not be cached. Throws AppError: `network` when nothing answers, `auth` when the key is missing or
 * refused, `rate-limited` when it refuses for its load, `server` when it is not an OpenHands server.
 */
export async function probe(
  app: Transport,
  options: KeyInUse & Pick<ConnectOptions, 'clock' | 'requestTimeoutMs'>,
): Promise<{ facts: ProbeFacts; holds: 'lasting' | 'for-now' }> {
  const { clock, requestTimeoutMs } = options;
  const longestMs = Math.max(LIMITS_MS.wholeProbe, 2 * (requestTimeoutMs ?? 0));
  const endsAtMs = clock.now() + longestMs;
  const ask = async (path: string): Promise<Answer | AppError> => {
    const call = {
      method: 'GET',
      path,
      safe: 'read',
      timeoutMs: LIMITS_MS.probe,
      maxBytes: MOST_PROBE_BYTES,
      accept: ANSWERS,
    } as const;
    try {
      const answer = await beforeTime({ clock }, endsAtMs - clock.now(), [app.request(call)]);
      return answer === 'time' ? endlessAnswer(app.baseUrl, longestMs) : answer;
    } catch (error) {
      if (error instanceof AppError && error.kind !== 'interrupted') return error;
      throw error;
    }
  };
  return await askAll(ask, options, clock.now());
}

function endlessAnswer(baseUrl: string, longestMs: number): AppError {
  return new AppError('network', `${baseUrl} did not complete a response within ${longestMs / 1000} s`, {
    hint: 'is this the right server? check the URL, the port and the path',
    retryable: true,
  });
}

async function askAll(
  ask: (path: string) => Promise<Answer | AppError>,
  key: KeyInUse,
  nowMs: number,
): Promise<{ facts: ProbeFacts; holds: 'lasting' | 'for-now' }> {
  const [document, webClient, count, options] = await Promise.all([
    ask('/openapi.json'),
    ask('/api/v1/web-client/config'),
    ask('/api/v1/app-conversations/count'),
    ask('/api/options/config'),
  ]);
  const facts = decide({ document, webClient, count, options }, key, nowMs);
  const isSettled = documentFacts(json(document)) !== null || isNotServed(document);
  return { facts, holds: isSettled ? 'lasting' : 'for-now' };
}

/** True when the server serves no document; false when the read failed, or the document was cut short or unreadable. */
function isNotServed(answer: Answer | AppError): boolean {
  return !(answer instanceof AppError) && [401, 403, 404, 405, 410].includes(answer.status);
}

function decide(answers: Answers, key: KeyInUse, nowMs: number): ProbeFacts {
  const all = Object.values(answers) as (Answer | AppError)[];
  if (all.every((answer) => answer instanceof AppError)) throw all[0];
  const document = documentFacts(json(answers.document));
  const webClient = json(answers.webClient);
  const options = json(answers.options);
  const count = answers.count;
  const countStatus = count instanceof AppError ? 0 : count.status;
  const countIsJson = !(count instanceof AppError) && isJsonType(count.contentType);
  const counted = countIsJson && countStatus === 200 && typeof count.body === 'number';

  const v1 = document?.v1 ?? (isRecord(webClient) || counted);
  const v0 = document?.v0 ?? (isRecord(options) && 'APP_MODE' in options);
  const unauthorized = countIsJson && (countStatus === 401 || countStatus === 403);
  const optionsRefuse = isUnauthorized(answers.options);
  if (unauthorized && (v1 || !v0)) throw keyError(key, count);
  // Without a document only this 401 identifies V0 and a wrong key (quirks/unchecked-key.ts).
  if (optionsRefuse && (v0 || document === null)) throw keyError(key, answers.options as Answer);
  if (!v1 && !v0) throw isAgentServer(json(answers.document)) ? agentServerError(answers.document) : notAServer(all);
  return {
    format: 2,
    dialects: [...(v1 ? (['v1'] as const) : []), ...(v0 ? (['v0'] as const) : [])],
    flavour: flavourOf(document, webClient, options),
    version: document?.version ?? null,
    features: document?.features ?? allUnknown(),
    v1_start_members: document?.v1StartMembers ?? null,
    echoes_ids: false,
    probed_at_ms: nowMs,
  };
}

function agentServerError(answer: Answer | AppError): AppError {
  return new AppError('server', 'the URL is that of an agent server in a sandbox, not of an app server', {
    request: answer instanceof AppError ? answer.details.request : answer.request,
    hint: 'use the URL of the app server that created the sandbox',
  });
}

/** The JSON of a good answer, else null. */
function json(answer: Answer | AppError): unknown {
  if (answer instanceof AppError || answer.status !== 200 || !isJsonType(answer.contentType)) return null;
  return answer.body ?? null;
}

function isUnauthorized(answer: Answer | AppError): boolean {
  return (
    !(answer instanceof AppError) && isJsonType(answer.contentType) && (answer.status === 401 || answer.status === 403)
  );
}

function flavourOf(document: DocumentFacts | null, webClient: unknown, options: unknown): ProbeFacts['flavour'] {
  if (document?.local) return 'local';
  const mode = isRecord(webClient) ? webClient['app_mode'] : isRecord(options) ? options['APP_MODE'] : null;
  if (mode === 'saas') return 'cloud';
  if (mode === 'local') return 'local';
  return mode === 'oss' ? 'self-hosted' : null;
}

function allUnknown(): Features {
  return Object.fromEntries(FEATURES.map((feature) => [feature, 'unknown'])) as Features;
}

function notAServer(answers: (Answer | AppError)[]): AppError {
  const seen = answers.find((answer): answer is Answer => !(answer instanceof AppError));
  const errors = answers.filter((answer) => answer instanceof AppError);
  const passing = errors.find((error) => RETRY_STATUSES.has(error.details.status ?? 0));
  if (passing) return passing; // a later probe can still identify the server
  if (seen && seen.status >= 500) {
    return new AppError('server', `the server answered ${seen.status} to every request of the probe`, {
      status: seen.status,
      request: seen.request,
      retryable: true,
    });
  }
  const [failed] = errors;
  if (failed && !seen) return failed;
  const type = seen === undefined || seen.contentType === '' ? 'no content type' : seen.contentType.slice(0, 80);
  const hint = 'is this the right server? check the URL, the port and the path';
  const details = seen === undefined ? { hint } : { status: seen.status, request: seen.request, hint };
  return new AppError('server', `the server at this URL is not an OpenHands server (it sent ${type})`, details);
}
