// An error is known by its name, not by its class: two chunks of the build may hold this module.

/** Keys are kinds, which are `error.code` in JSON too. A promise to scripts: never renumber. */
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

/** The exit code of `interrupted` when the reader of stdout is gone, as after SIGPIPE. */
export const READER_GONE = 141;

export type ErrorKind = Exclude<keyof typeof EXIT_CODES, 'ok'>;

/** A request as errors name it; the URL without credentials and secrets. */
export interface NamedRequest {
  method: string;
  url: string;
}

export type ErrorDetails = CommonDetails &
  ({ status: number; request: NamedRequest } | { status?: undefined; request?: NamedRequest });

interface CommonDetails {
  server?: string;
  hint?: string;
  /** Whether the same command may succeed later without any change. */
  retryable?: boolean;
  /** Overrides the code of the kind: 129 for SIGHUP, 143 for SIGTERM, `READER_GONE`. */
  exitCode?: number;
  data?: Record<string, unknown>;
  cause?: unknown;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly kind: ErrorKind;
  readonly details: ErrorDetails;

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.details = details;
  }

  get exitCode(): number {
    return this.details.exitCode ?? EXIT_CODES[this.kind];
  }

  with(details: Partial<ErrorDetails>, message = this.message): AppError {
    return new AppError(this.kind, message, { ...this.details, ...details } as ErrorDetails);
  }
}

/** A request as a dry run prints it; secrets are redacted. */
export interface DryRunRequest extends NamedRequest {
  body: unknown;
}

/** Ends a command in a dry run, before its first write: cli/run.ts prints the requests. */
export class DryRunStop extends Error {
  override readonly name = 'DryRunStop';
  readonly requests: readonly DryRunRequest[];

  constructor(requests: readonly DryRunRequest[] = []) {
    super('a dry run ends before the first write');
    this.requests = requests;
  }
}

export function isDryRunStop(error: unknown): error is DryRunStop {
  return error instanceof Error && error.name === 'DryRunStop';
}

export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && error.name === 'AppError';
}

/** False for an interruption, which a `catch` with a fallback throws again. */
export function isFailure(error: unknown): error is AppError {
  return isAppError(error) && error.kind !== 'interrupted';
}

/** False also where the reader of stdout is gone: nothing more is printed. */
export function isForReader(error: unknown): error is AppError {
  return isAppError(error) && error.exitCode !== READER_GONE;
}

export function isOfKind(...kinds: ErrorKind[]): (error: unknown) => error is AppError {
  return (error): error is AppError => isAppError(error) && kinds.includes(error.kind);
}

export const isNotFound = isOfKind('not-found');

/** For `catch`: null in place of an error that `test` accepts; any other is thrown again. */
export function nullIf(test: (error: unknown) => boolean): (error: unknown) => null {
  return (error) => {
    if (test(error)) return null;
    throw error;
  };
}

export interface FileProblem {
  reason: string;
  hint: string;
}

const PROBLEMS: Readonly<Record<string, FileProblem>> = {
  ENOENT: { reason: 'it does not exist', hint: 'check the path' },
  ENOTDIR: { reason: 'a part of its path is a file, not a folder', hint: 'check the path' },
  EISDIR: { reason: 'it is a folder', hint: 'give the path of a file' },
  EACCES: {
    reason: 'permission denied',
    hint: 'check the permissions of the file and of the folders that it is in',
  },
  EPERM: { reason: 'the system does not permit it', hint: 'check the permissions of the file' },
  EROFS: { reason: 'the file system is read-only', hint: 'choose another path' },
  ELOOP: { reason: 'its path is a loop of links', hint: 'give the path of the file itself' },
  ENAMETOOLONG: {
    reason: 'its path is too long',
    hint: 'give the path of a file, not its content',
  },
  ENOSPC: {
    reason: 'no space left on the device',
    hint: 'free some space, or choose another place',
  },
  EMFILE: { reason: 'too many files are open', hint: 'raise the limit of open files: ulimit -n' },
};

export const NO_FOLDER: FileProblem = {
  reason: 'its folder does not exist',
  hint: 'create the folder, or choose another one',
};

export function cannotWrite(file: string, problem: FileProblem, cause?: unknown): AppError {
  const { reason, hint } = problem;
  return new AppError('config', `cannot write ${file}: ${reason}`, { hint, cause });
}

export function fileProblem(error: unknown): FileProblem {
  const { code = 'unknown error' } = (error ?? {}) as { code?: string };
  return (
    PROBLEMS[code] ?? { reason: code, hint: 'check that the path names a file that you can read' }
  );
}
