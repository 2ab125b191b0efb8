/** A deletion whose answer was lost, and one that has no effect. */
import { AppError, isAppError } from '../errors.ts';
import { beforeTime } from '../runs/deadline.ts';
import type { Links } from './links.ts';
import { LIMITS_MS } from './transport/time-limits.ts';

export interface Removal {
  /** One request. Throws `not-found`. */
  remove(): Promise<void>;
  isThere(): Promise<boolean>;
}

/**
 * One request; when it is not answered, a read shows whether it was executed.
 * @param what `conversation 0a1b…`
 * @throws what `remove` throws, with what the read shows
 */
export async function removeOrRead(links: Links, what: string, { remove, isThere }: Removal): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!isAppError(error) || !isUnanswered(error)) throw error;
    const shown = await readOnce(links, isThere);
    if (shown === 'gone') return;
    const state = shown === 'there' ? `${what} is still there` : `whether ${what} was deleted is not known`;
    throw new AppError(error.kind, `${error.message}; ${state}`, error.details);
  }
}

/** A connection that failed, or a time-out of a gateway. */
function isUnanswered({ kind, details: { status } }: AppError): boolean {
  return kind === 'network' || status === 502 || status === 504;
}

async function readOnce(links: Links, isThere: () => Promise<boolean>): Promise<'there' | 'gone' | 'unread'> {
  try {
    const there = await beforeTime(links, LIMITS_MS.readAfterDeletion, [isThere()]);
    return there === 'time' ? 'unread' : there ? 'there' : 'gone';
  } catch (error) {
    links.signal.throwIfAborted();
    if (!isAppError(error)) throw error;
    return 'unread';
  }
}

/** @param what `secret NAME` */
export function notRemoved(what: string): AppError {
  return new AppError('server', `${what} was not deleted: the server accepted the deletion and still returns it`, {
    hint: 'another client may have created it again at the same moment; if not, ask the operator of the server',
  });
}
