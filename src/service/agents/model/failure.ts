import { APICallError, JSONParseError, TypeValidationError } from 'ai';
import { cut } from '../../../base/text/well-formed.ts';
import type { Api, Endpoint } from '../../base/model-endpoint.ts';

/** `code` as in the ConversationErrorEvent of genuine servers; `message` says what to do. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly code: string;
  /** Not null: the call may succeed later; the endpoint may have said when. */
  readonly retry: { afterMs: number | null } | null;
  /** Whether the endpoint may mean the length of the request. */
  readonly mayBeLength: boolean;

  constructor(
    code: string,
    message: string,
    {
      retry = null,
      mayBeLength = false,
    }: Partial<Pick<ModelFailure, 'retry' | 'mayBeLength'>> = {},
  ) {
    super(message);
    this.code = code;
    this.retry = retry;
    this.mayBeLength = mayBeLength;
  }
}

const LONGEST_REASON = 500;
const LATER = 'Continue the conversation later';
const THEN = 'Then continue the conversation';
const CONNECTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
};
/** OpenAI sends a code; vLLM, llama.cpp, ollama, Gemini, xAI and others send only a message. */
const OVERFLOW = new RegExp(
  'context_length_exceeded|context (?:length|window|size|limit)|maximum (?:context|prompt|' +
    'allowed input|input length)|too many tokens|(?:prompt|input) is too long|token count ' +
    '.*exceeds|exceeded model token limit|exceeds max length|range of input length|' +
    'new_tokens`? must be <= \\d+|reduce the length of the messages',
  'i',
);
const CUT_OFF = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Of errors within a stream, whose status has been 200. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529,
};

/** The library for Anthropic reports status 500 for a first event that it cannot read. */
const UNREADABLE = /"name":"AI_(?:JSONParse|TypeValidation)Error"/;
const INTERFACES: Readonly<Record<Api, string>> = {
  chat: 'an OpenAI-compatible interface',
  responses: 'the Responses interface of OpenAI',
  anthropic: 'the interface of Anthropic',
  google: 'the interface of Gemini',
};

export function toModelFailure(error: unknown, { api, baseUrl, model }: Endpoint): ModelFailure {
  const causes = causesOf(error);
  const own = causes.find((each) => each instanceof ModelFailure);
  if (own !== undefined) return own;
  const { message = 'unknown error' } = error as Partial<Error>;
  const said = cut(message, LONGEST_REASON);
  const isUnreadable =
    UNREADABLE.test((error as Partial<APICallError>).responseBody ?? '') ||
    causes.some((each) => JSONParseError.isInstance(each) || TypeValidationError.isInstance(each));
  if (isUnreadable) {
    const [reason] = said.split('\nError message');
    const what = `The answer of ${baseUrl} is not of ${INTERFACES[api]}`;
    return new ModelFailure('LLMBadResponseError', `${what}: ${reason} Correct llm_base_url.`);
  }
  const status = statusOf(error);
  if (status !== null)
    return refusalOf(error as Partial<APICallError>, status, said, baseUrl, model);
  const codes = causes.map((each) => (each as NodeJS.ErrnoException).code ?? '');
  const isUnanswered = APICallError.isInstance(error) && error.statusCode === undefined;
  if (isUnanswered && !codes.some((code) => CUT_OFF.has(code))) {
    const why = codes.map((code) => CONNECTIONS[code]).find(Boolean) ?? said;
    const what = `Cannot reach the model at ${baseUrl}: ${why}`;
    const detail = `${what}. Start it, or correct llm_base_url.`;
    return new ModelFailure('LLMServiceUnavailableError', detail);
  }
  const detail = `The answer of ${baseUrl} was cut off: ${said}. ${LATER}.`;
  return new ModelFailure('LLMServiceUnavailableError', detail, { retry: { afterMs: null } });
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
    const { statusCode: status = 0, responseBody = '' } = error;
    const type = /"type": *"(\w+)"/.exec(responseBody)?.[1] ?? '';
    // Also that of an error at the beginning of a stream.
    if (status === 500) return STATUS_OF_TYPE[type] ?? status;
    return status >= 400 ? status : null;
  }
  if (error instanceof Error) return null;
  const { code, statusCode, type } = Object(error) as Record<string, unknown>;
  const status = STATUS_OF_TYPE[String(type)] ?? statusCode ?? code;
  return typeof status === 'number' ? status : 500;
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
    // Google answers a wrong key with 400.
    matches: (status, text) => status === 401 || status === 403 || /API_KEY_INVALID/.test(text),
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
    // The reasoning of the history is that of another key.
    matches: (_status, text) => /invalid_encrypted_content/.test(text),
    code: 'LLMBadRequestError',
    next: 'Set agent_settings.llm.enable_encrypted_reasoning=false, or the key of before',
  },
  {
    // llama.cpp answers each request with tools so, with HTTP 500.
    matches: (_status, text) => /--jinja\b/.test(text),
    code: 'LLMBadRequestError',
    next: 'Start llama.cpp with --jinja',
  },
  {
    matches: (status) => status === 408 || (status >= 500 && status < 600),
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
  return new ModelFailure(code, detail, {
    retry: mayRetry ? { afterMs: retryAfterMs(responseHeaders, responseBody) } : null,
    mayBeLength: [400, 413, 422].includes(status),
  });
}

function retryAfterMs(headers: Record<string, string>, body: string): number | null {
  const header = headers['retry-after'] ?? /"retryDelay": *"([\d.]+)s"/.exec(body)?.[1];
  if (header === undefined) return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
