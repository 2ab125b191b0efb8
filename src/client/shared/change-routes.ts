/** Renames and deletes; the routes of V0 accept the ids of V1 (interface 4.4). */
import { AppError, isAppError, isFailure, nullIf } from '../../base/errors.ts';
import { beforeTime } from '../../runs/deadline.ts';
import type { Feature } from './features.ts';
import { noConversation, normalId } from '../../domain/ids.ts';
import type { Links } from './links.ts';
import { type Answer, foundNothing, isMissingRoute, errorBy } from '../http/answer.ts';
import type { Call } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';

interface ChangeCall extends Pick<Call, 'method' | 'body' | 'timeoutMs'> {
  accept?: readonly number[];
  isThere: () => Promise<boolean>;
}

/** Null where the server lacks the route, also one that its document lists: nothing was changed. */
export async function changeOverV1(
  links: Links,
  feature: Feature,
  id: string,
  { isThere, ...call }: ChangeCall,
): Promise<Answer | null> {
  const presence = links.facts.features[feature];
  if (presence === 'absent') return null;
  const path = `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
  const mayBeMissing = presence === 'unknown';
  const accept = [...(call.accept ?? []), 404, ...(mayBeMissing ? [405] : [])];
  const options = { ...call, path, accept, mayBeMissing, safe: 'idempotent' } as const;
  const answer = await links.app.request(options);
  if (!(await lacksRoute(answer, isThere))) return answer;
  if (isMissingRoute(answer)) await links.learn(feature, 'absent');
  return null;
}

/** Throws `not-found`, and `unsupported` where V0 or the route is missing. */
export async function changeOverV0(
  links: Links,
  id: string,
  { isThere, ...call }: Omit<ChangeCall, 'accept'>,
): Promise<void> {
  const verb = call.method === 'DELETE' ? 'delete' : 'rename';
  const routes = 'neither over V1 nor over V0';
  const message = `this server has no route that can ${verb} a conversation, ${routes}`;
  if (!links.facts.dialects.includes('v0')) throw new AppError('unsupported', message);
  const path = `/api/conversations/${encodeURIComponent(normalId(id))}`;
  const answer = await links.app.request({ ...call, path, safe: 'idempotent', accept: [404, 405] });
  if (await lacksRoute(answer, isThere)) throw errorBy(answer, 'unsupported', message);
  if (foundNothing(answer)) throw noConversation(id);
}

/** 405, or 404 while the thing is there. After a lost try of a deletion, a 404 is its success. */
export async function lacksRoute(
  { status, afterLostTry }: Answer,
  isThere: () => Promise<boolean>,
): Promise<boolean> {
  return status === 405 || (status === 404 && afterLostTry === undefined && (await isThere()));
}

export async function refuseIfThere(
  answer: Answer,
  what: string,
  whyThere: () => Promise<string | null>,
): Promise<void> {
  const why = answer.status === 404 ? await whyThere() : null;
  if (why !== null)
    throw errorBy(answer, 'conflict', `the server does not delete the ${what}: ${why}`);
}

/** Sends `remove` once; when it is not answered, a read shows whether it was executed. */
export async function removeOrRead(
  links: Links,
  what: string,
  { remove, isThere }: { remove(): Promise<void>; isThere(): Promise<boolean> },
): Promise<void> {
  try {
    await remove();
  } catch (error) {
    const isUnanswered =
      isAppError(error) &&
      (error.kind === 'network' || [502, 504].includes(error.details.status ?? 0));
    if (!isUnanswered) throw error;
    const read = beforeTime(links, LIMITS_MS.readAfterDeletion, [isThere()]);
    const shown = await read.catch(nullIf(isFailure));
    if (shown === false) return;
    const state =
      shown === true ? `${what} is still there` : `whether ${what} was deleted is not known`;
    throw new AppError(error.kind, `${error.message}; ${state}`, error.details);
  }
}
