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

const TIMEOUT_MS = 60_000;

/** Throws `not-found`; `conflict` where the route may delete conversations outside the scope with the sandbox. */
export async function removeV1(links: Links, facts: ProbeFacts, id: string, scope: RemovalScope): Promise<void> {
  await removeForGood(links, id, {
    remove: () => removeOnce(links, facts, id, scope),
    isThere: async () => (await getConversations(links, [normalId(id)]))[0] != null,
  });
}

async function removeOnce(links: Links, facts: ProbeFacts, id: string, scope: RemovalScope): Promise<void> {
  const call = { method: 'DELETE', timeoutMs: TIMEOUT_MS } as const;
  const overV1 = await changeOverV1(links, 'delete-conversation', id, { ...call, accept: [400, 404] });
  if (overV1 !== null) {
    if (overV1.status === 400 || foundNothing(overV1)) throw noConversation(id);
    return await links.features.learn('delete-conversation', 'present');
  }
  const path = routeOfV0(facts, id, 'delete a conversation');
  if (scope.alsoGone !== 'any') await refuseNeighbours(links, id, scope.alsoGone);
  const answer = await links.app.request({ ...call, path, safe: 'idempotent', accept: [404] });
  if (foundNothing(answer)) throw noConversation(id);
}
