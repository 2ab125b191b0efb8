/**
 * Deletion of a V1 conversation (interface 4.4), such that it stays. A genuine app server writes what a sandbox tells of
 * a conversation into the record as it read it before: one that was deleted in between is listed again (seen on 1.6.0
 * and 1.11.0, right after the deletion).
 */
import { isAppError } from '../../errors.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { getConversations, noConversation } from './calls.ts';
import { changesOverV1, routeOfV0, routeOfV1 } from './change-routes.ts';

const TIMEOUT_MS = 60_000;
/** Until what was on its way at the deletion is written. */
const LOOK_AGAIN_MS = 300;
/** More is for a conversation that somebody makes anew. */
const TRIES = 3;

/** Throws `not-found`. */
export async function removeV1(links: Links, facts: ProbeFacts, id: string): Promise<void> {
  await removeOnce(links, facts, id);
  if (links.local) return;
  for (let tries = 1; tries < TRIES && (await comesBack(links, id)); tries++) {
    try {
      await removeOnce(links, facts, id);
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'not-found') throw error;
      return;
    }
  }
}

/** It was deleted: neither a look that fails nor a signal meanwhile makes that one that was not. */
async function comesBack(links: Links, id: string): Promise<boolean> {
  try {
    await links.clock.sleep(LOOK_AGAIN_MS, links.signal);
    return (await getConversations(links, [normalId(id)]))[0] != null;
  } catch (error) {
    if (!isAppError(error) && !links.signal.aborted) throw error;
    return false;
  }
}

async function removeOnce(links: Links, facts: ProbeFacts, id: string): Promise<void> {
  const overV1 = changesOverV1(facts);
  const path = overV1 ? routeOfV1(id) : routeOfV0(id);
  const accept = overV1 ? [400, 404] : [404];
  const call = { method: 'DELETE', path, safe: 'idempotent', timeoutMs: TIMEOUT_MS, accept } as const;
  const answer = await links.app.request(call);
  // The route of V0 answers false for one that is not there.
  if (answer.status >= 400 || (!overV1 && answer.body === false)) throw noConversation(id);
}
