/** What is known of a start whose request a signal or the deadline aborted. */
import { AppError, isAppError, type ErrorDetails } from '../errors.ts';
import type { Links } from './links.ts';
import type { Delivery } from './transport/call.ts';

/** What the error names when the server may have accepted the start. */
export interface MaybeTaken {
  /** The text after `the server may have taken the start`. */
  as?: string;
  hint: string;
  data: Record<string, unknown>;
}

/** Returns the error itself when its cause is not the abort. */
export function abortedStart({ signal }: Links, error: unknown, { isPossible }: Delivery, maybe: MaybeTaken): unknown {
  const reason: unknown = signal.reason;
  if (error !== reason && !(isAppError(error) && error.kind === 'unknown-outcome')) return error;
  if (!isAppError(reason)) return reason;
  const given: ErrorDetails = { ...reason.details, exitCode: reason.exitCode };
  const data = { reason: reason.kind, ...reason.details.data };
  if (!isPossible) {
    const message = `${reason.message}; the server has not taken the start`;
    return new AppError(reason.kind, message, { ...given, data: { ...data, changed: false } });
  }
  return new AppError(reason.kind, `${reason.message}; the server may have taken the start${maybe.as ?? ''}`, {
    ...given,
    hint: maybe.hint,
    data: { ...data, ...maybe.data },
  });
}

/** Whether the error is that of an aborted start that the server has not received. */
export function isNotTaken(error: unknown): boolean {
  return isAppError(error) && error.details.data?.['changed'] === false;
}
