/** A refusal that the worker turns into an HTTP status. */
export class OperationError extends Error {
  readonly code: 'not-found' | 'not-a-file' | 'invalid' | 'too-large' | 'unsupported';

  constructor(code: OperationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The code of a failed system call, such as ENOENT; empty for anything else. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
