/** Deletion of a V1 conversation (interface 4.4), over the route of V1 or, where there is none, that of V0. */
import { noConversation } from '../ids.ts';
import { changeOverV1, removeOverV0 } from '../change-routes.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { refuseNeighbours } from '../quirks/deleted-neighbours.ts';
import { removeForGood } from '../quirks/returning-record.ts';
import type { RemovalScope } from '../server.ts';
import { foundNothing } from '../transport/answer.ts';
import { isThereV1 } from './calls.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';

/** Throws `not-found`; `conflict` where the route may delete conversations outside the scope with the sandbox. */
export async function removeV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  { alsoGone }: RemovalScope,
): Promise<void> {
  const check = async (): Promise<void> => {
    if (alsoGone !== 'any') await refuseNeighbours(links, webUrl, id, alsoGone);
  };
  await removeForGood(links, id, {
    remove: () => removeOnce(links, facts, id, check),
    isThere: () => isThereV1(links, id),
  });
}

/** @param check runs right before a request that may delete the sandbox too */
async function removeOnce(links: Links, facts: ProbeFacts, id: string, check: () => Promise<void>): Promise<void> {
  const call = { timeoutMs: LIMITS_MS.deletion, isThere: () => isThereV1(links, id) };
  const overV1 = await changeOverV1(links, 'delete-conversation', id, { ...call, method: 'DELETE', accept: [400] });
  if (overV1 !== null) {
    if (overV1.status === 400 || foundNothing(overV1)) throw noConversation(id);
    return await links.features.learn('delete-conversation', 'present');
  }
  if (facts.dialects.includes('v0')) await check();
  await removeOverV0(links, facts, id, call);
}
