/**
 * Deletes a conversation and reads afterwards whether it stays deleted.
 *
 * Servers:  openhands-ai 1.11.0; 1.6.0 writes records in the same way, over both dialects
 * Symptom:  `conv delete` exits 0 and the conversation is listed again: the app server writes what the sandbox reports
 *           into the record as it was read before the deletion.
 * Evidence: interface 13 "Records written twice"; rate unknown; test/servers/quirks/returning-record.test.ts
 * Cost:     1 read, 300 ms after each deletion
 * Remove:   unknown
 */
import { isAppError } from '../../errors.ts';
import type { Links } from '../links.ts';
import { notRemoved, removeOrRead, type Removal } from '../removal.ts';

/** By then the server has written what it had read before the deletion. */
const LOOK_AGAIN_MS = 300;
/** A conversation that returns more often is created again by another client. */
const TRIES = 3;

/** Throws `not-found` when the first request finds nothing, and `server` when the conversation stays. */
export async function removeForGood(links: Links, id: string, { remove, isThere }: Removal): Promise<void> {
  await removeOrRead(links, `conversation ${id}`, { remove, isThere });
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
