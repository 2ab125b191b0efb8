import { isAppError, type AppError } from '../../../src/base/errors.ts';

/** The AppError a promise rejects with; anything else fails the test. */
export async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isAppError(error)) throw error ?? new Error('nothing was thrown');
  return error;
}
