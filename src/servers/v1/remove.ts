/** Deletion of a V1 conversation (interface 4.4), over the route of V1 or, where there is none, that of V0. */
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { refuseNeighbours } from '../quirks/deleted-neighbours.ts';
import { removeForGood } from '../quirks/returning-record.ts';
import type { RemovalScope } from '../server.ts';
import { foundNothing } from '../transport/answer.ts';
import { getConversations, noConversation } from './calls.ts';
import { changeOverV1, routeOfV0 } from './change-routes.ts';
import type { WebUrl } from './records.ts';

const TIMEOUT_MS = 60_000;

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
    isThere: async () => (await getConversations(links, [normalId(id)]))[0] != null,
  });
}

/** @param check runs right before a request that may delete the sandbox too */
async function removeOnce(links: Links, facts: ProbeFacts, id: string, check: () => Promise<void>): Promise<void> {
  const call = { method: 'DELETE', timeoutMs: TIMEOUT_MS } as const;
  const overV1 = await changeOverV1(links, 'delete-conversation', id, { ...call, accept: [400, 404] });
  if (overV1 !== null) {
    if (overV1.status === 400 || foundNothing(overV1)) throw noConversation(id);
    return await links.features.learn('delete-conversation', 'present');
  }
  const path = routeOfV0(facts, id, 'delete a conversation');
  await check();
  const answer = await links.app.request({ ...call, path, safe: 'idempotent', accept: [404] });
  if (foundNothing(answer)) throw noConversation(id);
}
