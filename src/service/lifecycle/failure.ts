/** Why the service could not be started, found or stopped. */
export type ServiceErrorCode =
  /** The data directory cannot be created, read or written. */
  | 'data-dir'
  /** Another service owns the data directory. */
  | 'locked'
  /** The port is taken or the address cannot be listened on. */
  | 'listen'
  /** It started and ended before it listened. */
  | 'start-failed'
  /** It did not end in time. */
  | 'stop-failed'
  /** The scenario file cannot be read, or is not valid. */
  | 'scenario'
  /** The default replay cannot be read or is not a trajectory. */
  | 'replay'
  /** The trial of bubblewrap failed for a temporary reason. */
  | 'isolation'
  /** This platform has no local service, or not the requested isolation. */
  | 'unsupported';

/** An error of starting, finding or stopping the local service; `hint` names the next step. */
export class ServiceError extends Error {
  readonly code: ServiceErrorCode;
  readonly hint: string | undefined;

  constructor(code: ServiceErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.hint = options.hint;
  }
}
