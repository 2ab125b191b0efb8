export type ServiceErrorCode =
  /** The data directory cannot be created, read or written, or its store is damaged. */
  | 'data-dir'
  | 'locked'
  | 'listen'
  | 'start-failed'
  | 'stop-failed'
  | 'scenario'
  | 'replay'
  /** The trial of bubblewrap failed for a temporary reason. */
  | 'isolation'
  /** This platform has no local service, or not the requested isolation. */
  | 'unsupported';

/** An error of starting, finding or stopping the local service; `hint` names the next step. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly hint: string | undefined;

  constructor(
    code: ServiceErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}
