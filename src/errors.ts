/**
 * Every way a command can fail. One class, recognised by a tag and not by `instanceof`, because the build may hold
 * this module in more than one chunk.
 */

/** Exit codes by kind; the kind is also `error.code` in JSON. They are a promise to scripts: never renumber. */
export const EXIT_CODES = {
  ok: 0,
  failed: 1,
  usage: 2,
  config: 3,
  auth: 4,
  'not-found': 5,
  conflict: 6,
  'rate-limited': 7,
  'needs-input': 8,
  server: 9,
  network: 10,
  'unknown-outcome': 11,
  unsupported: 12,
  internal: 70,
  timeout: 124,
  interrupted: 130,
} as const;

/** The exit code of a command whose reader of stdout is gone, as after SIGPIPE: `exitCode` of `interrupted`. */
export const READER_GONE = 141;

export type ErrorKind = Exclude<keyof typeof EXIT_CODES, 'ok'>;

/** A request as errors name it; the URL without credentials and secrets. */
export interface NamedRequest {
  method: string;
  url: string;
}

export type ErrorDetails = CommonDetails & (OfAnswer | OfNoAnswer);

/** Of an error that comes from a request. */
export type RequestDetails = CommonDetails & { status?: number; request: NamedRequest };

/** The status of the answer that led to the error, and the request that was answered. */
interface OfAnswer {
  status: number;
  request: NamedRequest;
}

interface OfNoAnswer {
  status?: undefined;
  /** The request that failed. */
  request?: NamedRequest;
}

interface CommonDetails {
  /** The URL of the server, where the error names no request. */
  server?: string;
  /** The next step, in one line. */
  hint?: string;
  /** Whether the same command may succeed later without any change. */
  retryable?: boolean;
  /** Overrides the code of the kind: 129 for SIGHUP, 143 for SIGTERM, 141 for a reader that went away. */
  exitCode?: number;
  /** Further members of the JSON error, e.g. `candidates` of an ambiguous id. */
  data?: Record<string, unknown>;
  cause?: unknown;
}

const TAG = 'acs.AppError';

export class AppError extends Error {
  readonly tag = TAG;
  readonly kind: ErrorKind;
  readonly details: ErrorDetails;

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'AppError';
    this.kind = kind;
    this.details = details;
  }

  get exitCode(): number {
    return this.details.exitCode ?? EXIT_CODES[this.kind];
  }
}

export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && (error as { tag?: unknown }).tag === TAG;
}

export function isNotFound(error: unknown): error is AppError {
  return isAppError(error) && error.kind === 'not-found';
}
