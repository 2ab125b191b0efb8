import { APICallError, JSONParseError, TypeValidationError } from 'ai';
import { cut } from '../../../base/text/well-formed.ts';

/** `code` as in the ConversationErrorEvent of genuine servers; `message` says what to do. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly code: string;
  /** Not null: the call may succeed later; the endpoint may have said when. */
  readonly retry: { afterMs: number | null } | null;

  constructor(code: string, message: string, retry: ModelFailure['retry'] = null) {
    super(message);
    this.code = code;
    this.retry = retry;
  }
}

const LONGEST_REASON = 500;
const LATER = 'Continue later with a message: acs conv send';
const THEN = 'Then continue with a message: acs conv send';
const CONNECTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
};
/** OpenAI sends a code; vLLM, llama.cpp, ollama, Gemini, xAI and others send only a message. */
const OVERFLOW = new RegExp(
  'context_length_exceeded|context (?:length|window|size)|maximum (?:context|prompt)|too ' +
    'many tokens|prompt is too long|token count .*exceeds',
  'i',
);
const CUT_OFF = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** The failure for any error that a call of the model throws. */
export function toModelFailure(
  error: unknown,
  { baseUrl, model }: { baseUrl: string; model: string },
): ModelFailure {
  const causes = causesOf(error);
  const own = causes.find((each) => each instanceof ModelFailure);
  if (own !== undefined) return own;
  const { message = 'unknown error' } = error as Partial<Error>;
  const said = cut(message, LONGEST_REASON);
  const status = statusOf(error);
  if (status !== null)
    return refusalOf(error as Partial<APICallError>, status, said, baseUrl, model);
  if (
    causes.some((each) => JSONParseError.isInstance(each) || TypeValidationError.isInstance(each))
  ) {
    const [reason] = said.split('\nError message');
    const what = `The answer of ${baseUrl} is not of an OpenAI-compatible interface`;
    return new ModelFailure('LLMBadResponseError', `${what}: ${reason} Correct llm_base_url.`);
  }
  const codes = causes.map((each) => (each as NodeJS.ErrnoException).code ?? '');
  const isUnanswered = APICallError.isInstance(error) && error.statusCode === undefined;
  if (isUnanswered && !codes.some((code) => CUT_OFF.has(code))) {
    const why = codes.map((code) => CONNECTIONS[code]).find(Boolean) ?? said;
    const what = `Cannot reach the model at ${baseUrl}: ${why}`;
    const detail = `${what}. Start it, or correct llm_base_url.`;
    return new ModelFailure('LLMServiceUnavailableError', detail);
  }
  const detail = `The answer of ${baseUrl} was cut off: ${said}. ${LATER}.`;
  return new ModelFailure('LLMServiceUnavailableError', detail, { afterMs: null });
}

function causesOf(error: unknown): object[] {
  const causes: object[] = [];
  for (
    let each = error;
    typeof each === 'object' && each !== null && causes.length < 5;
    each = (each as Error).cause
  )
    causes.push(each);
  return causes;
}

function statusOf(error: unknown): number | null {
  if (APICallError.isInstance(error)) {
    const { statusCode: status = 0 } = error;
    return status >= 400 ? status : null;
  }
  if (error instanceof Error) return null;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'number' ? code : 500;
}

type Refusal = {
  code: string;
  next: string;
  mayRetry?: true;
  matches: (status: number, text: string) => boolean;
};

/** The first row that matches. 429 is before the texts: some rate limits name tokens. */
const REFUSALS: readonly Refusal[] = [
  {
    matches: (status) => status === 401 || status === 403,
    code: 'LLMAuthenticationError',
    next: `Set another key: acs settings set llm_api_key=-. ${THEN}`,
  },
  {
    matches: (status) => status === 404,
    code: 'LLMNotFoundError',
    next: `Correct llm_base_url, or llm_model (MODEL). ${THEN}`,
  },
  { matches: (status) => status === 429, code: 'LLMRateLimitError', next: LATER, mayRetry: true },
  {
    matches: (status, text) => status === 413 || (status !== 503 && OVERFLOW.test(text)),
    code: 'LLMContextWindowExceedError',
    next: 'Use a model with a longer context, or start a new conversation',
  },
  {
    matches: (status) => status === 408 || status >= 500,
    code: 'LLMServiceUnavailableError',
    next: LATER,
    mayRetry: true,
  },
  {
    matches: () => true,
    code: 'LLMBadRequestError',
    next: 'Correct the settings of the model (acs settings list)',
  },
];

function refusalOf(
  { responseBody = '', responseHeaders = {} }: Partial<APICallError>,
  status: number,
  said: string,
  baseUrl: string,
  model: string,
): ModelFailure {
  const row = REFUSALS.find(({ matches }) => matches(status, `${said} ${responseBody}`));
  const { code, next, mayRetry } = row as Refusal;
  const answer = `${baseUrl} answered with HTTP ${status}: ${said.replace(/[.\s]+$/, '')}`;
  const detail = `${answer}. ${next.replace('MODEL', () => model)}.`;
  return new ModelFailure(
    code,
    detail,
    mayRetry ? { afterMs: retryAfterMs(responseHeaders) } : null,
  );
}

function retryAfterMs(headers: Record<string, string>): number | null {
  const header = headers['retry-after'];
  if (header === undefined) return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
