/** What an agent server that is reached directly lacks. */
import { AppError } from '../../base/errors.ts';
import { forward } from '../shared/compose.ts';

export function ownMachine(): AppError {
  return new AppError(
    'unsupported',
    'this server has no sandboxes: its conversations run in folders of its own machine',
  );
}

/** A group of the port whose methods all throw. */
export function absent<T extends object>(error: () => AppError): T {
  return forward<T>(() => Promise.reject(error()));
}
