/**
 * Deletion of a conversation with a read afterwards. A genuine app server writes what a sandbox reports into the record
 * as it read it before, so a record deleted in between is listed again (1.6.0, 1.11.0, right after the deletion).
 */
import { AppError, isAppError } from '../errors.ts';
import type { Links } from './links.ts';

/** Until what was on its way at the deletion is written. */
const LOOK_AGAIN_MS = 300;
/** More is for a conversation that another client creates again. */
const TRIES = 3;
/** For the read after a deletion that was not answered. */
const UNANSWERED_READ_MS = 5_000;

export interface Removal {
  /** One request. Throws `not-found`. */
  remove(): Promise<void>;
  isThere(): Promise<boolean>;
}

/** Throws `not-found` when the first request finds nothing, and `server` when the conversation stays. */
export async function removeForGood(links: Links, id: string, { remove, isThere }: Removal): Promise<void> {
  await removeOrRead(links, `conversation ${id}`, { remove, isThere });
  if (links.local) return;
  for (let tries = 1; await staysThere(links, isThere); tries++) {
    if (tries >= TRIES) throw notRemoved(`conversation ${id}`);
    try {
      await remove();
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'not-found') throw error;
      return;
    }
  }
}

/**
 * One request; where no answer to it comes, a read shows whether it was carried out.
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

/** A connection that failed, or a gateway that gave up waiting. */
function isUnanswered({ kind, details: { status } }: AppError): boolean {
  return kind === 'network' || status === 502 || status === 504;
}

async function readOnce(links: Links, isThere: () => Promise<boolean>): Promise<'there' | 'gone' | 'unread'> {
  const timer = new AbortController();
  const limit = links.clock.sleep(UNANSWERED_READ_MS, AbortSignal.any([timer.signal, links.signal]));
  const read = isThere().then((there) => (there ? 'there' : 'gone'));
  try {
    return await Promise.race([read, limit.then(() => 'unread' as const)]);
  } catch (error) {
    links.signal.throwIfAborted();
    if (!isAppError(error)) throw error;
    return 'unread';
  } finally {
    timer.abort();
    await Promise.allSettled([limit]);
  }
}

/** The deletion was accepted: a read that fails, or a signal during it, does not make that a failure. */
async function staysThere(links: Links, isThere: () => Promise<boolean>): Promise<boolean> {
  try {
    await links.clock.sleep(LOOK_AGAIN_MS, links.signal);
    return await isThere();
  } catch (error) {
    if (!isAppError(error) && !links.signal.aborted) throw error;
    return false;
  }
}

/** @param what `secret NAME` */
export function notRemoved(what: string): AppError {
  return new AppError('server', `${what} was not deleted: the server accepted the deletion and still returns it`, {
    hint: 'another client may have created it again at the same moment; if not, ask the operator of the server',
  });
}
