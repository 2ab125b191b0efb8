/**
 * Where a V1 conversation is renamed and deleted. V1's own routes for that are younger than V1; a server that serves V0
 * too does it at V0's routes, which know the ids of V1.
 */
import { AppError } from '../../errors.ts';
import { isMissingRoute, type Feature } from '../features.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Answer } from '../transport/answer.ts';
import type { Call } from '../transport/call.ts';

type ChangeCall = Pick<Call, 'method' | 'body' | 'timeoutMs'> & { accept: readonly number[] };

/**
 * Sends an idempotent change of a conversation to V1's route. Null where the server lacks the route: nothing was
 * changed, and a route whose presence was unknown is known to be absent.
 */
export async function changeOverV1(
  links: Links,
  feature: Feature,
  id: string,
  call: ChangeCall,
): Promise<Answer | null> {
  const presence = links.features.of(feature);
  if (presence === 'absent') return null;
  const path = `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
  const accept = presence === 'present' ? call.accept : [...new Set([...call.accept, 404, 405])];
  const answer = await links.app.request({
    ...call,
    path,
    safe: 'idempotent',
    accept,
    mayBeMissing: presence !== 'present',
  });
  if (presence === 'present' || !isMissingRoute(answer)) return answer;
  await links.features.learn(feature, 'absent');
  return null;
}

/** The path of V0's route. Throws `unsupported` where the server does not serve V0: `what` cannot be done there. */
export function routeOfV0(facts: ProbeFacts, id: string, what: string): string {
  if (!facts.dialects.includes('v0')) {
    throw new AppError('unsupported', `this server cannot ${what}; servers that serve V0, and 1.11.0 and later, can`);
  }
  return `/api/conversations/${encodeURIComponent(normalId(id))}`;
}
