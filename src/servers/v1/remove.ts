/** Deletion of a V1 conversation (interface 4.4), over the route of V1 or, where there is none, that of V0. */
import { AppError } from '../../errors.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { allPages, byId } from '../pages.ts';
import type { ProbeFacts } from '../probe.ts';
import { removeForGood } from '../removal.ts';
import type { RemovalScope } from '../server.ts';
import { foundNothing } from '../transport/answer.ts';
import { getConversation, getConversations, noConversation, searchConversations } from './calls.ts';
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

/**
 * Up to 1.5.0 the route of V0 deletes the sandbox with every conversation in it, from 1.6.0 only when there is no other
 * one (interface 13). Which of the two a server does is not to be read from it without a deletion.
 */
async function refuseNeighbours(links: Links, id: string, alsoGone: readonly string[]): Promise<void> {
  const { sandbox_id: sandboxId } = await getConversation(links, id);
  if (sandboxId === null) return;
  const spared = new Set([id, ...alsoGone].map(normalId));
  const others: string[] = [];
  for await (const record of allPages(byId, (page) => searchConversations(links, { sandboxId }, page))) {
    const other = normalId(record.id);
    if (record.sandbox_id === sandboxId && !spared.has(other)) others.push(other);
  }
  if (others.length === 0) return;
  throw new AppError(
    'conflict',
    `conversation ${id} was not deleted: this server may delete its sandbox ${sandboxId} with it, and that holds ${others.length === 1 ? 'another conversation' : `${others.length} other conversations`}: ${others.join(', ')}`,
    {
      hint: 'delete the sandbox and everything in it with --with-sandbox, or name all of its conversations',
      data: { sandbox_id: sandboxId, conversation_ids: others },
    },
  );
}
