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

export interface Removal {
  /** One request. Throws `not-found`. */
  remove(): Promise<void>;
  isThere(): Promise<boolean>;
}

/** Throws `not-found` when the first request finds nothing, and `server` when the conversation stays. */
export async function removeForGood(links: Links, id: string, { remove, isThere }: Removal): Promise<void> {
  await remove();
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
