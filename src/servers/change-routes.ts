/**
 * The routes over which a conversation is renamed and deleted. Where V1 lacks them the routes of V0, which accept the
 * ids of V1, do the same (interface 4.4).
 */
import { AppError } from '../errors.ts';
import { isMissingRoute, type Feature } from './features.ts';
import { noConversation, normalId } from './ids.ts';
import type { Links } from './links.ts';
import type { ProbeFacts } from './probe.ts';
import { foundNothing, unsupportedBy, type Answer } from './transport/answer.ts';
import type { Call } from './transport/call.ts';

/** An idempotent change of one conversation. */
interface ChangeCall extends Pick<Call, 'method' | 'body' | 'timeoutMs'> {
  accept?: readonly number[];
  /** Reads whether the conversation is there: a 404 is about the route then. */
  isThere: () => Promise<boolean>;
}

/**
 * Sends the change to V1's route. Null where the server lacks the route, also one that its document lists: nothing was
 * changed. The route is then known to be absent, unless the answer might be that of a gateway.
 */
export async function changeOverV1(
  links: Links,
  feature: Feature,
  id: string,
  { isThere, ...call }: ChangeCall,
): Promise<Answer | null> {
  const presence = links.features.of(feature);
  if (presence === 'absent') return null;
  const path = `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
  const isKnown = presence === 'present';
  const accept = [...(call.accept ?? []), 404, ...(isKnown ? [] : [405])];
  const answer = await links.app.request({ ...call, path, safe: 'idempotent', accept, mayBeMissing: !isKnown });
  if (!(await lacksRoute(answer, isThere))) return answer;
  if (isMissingRoute(answer)) await links.features.learn(feature, 'absent');
  return null;
}

/** Renames a conversation of either dialect. Throws `not-found`, and what changeOverV0 throws. */
export async function renameOverV0(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
  isThere: ChangeCall['isThere'],
): Promise<void> {
  const call = { method: 'PATCH', body: { title }, isThere } as const;
  const { status } = await changeOverV0(links, facts, id, 'rename a conversation', call);
  if (status === 404) throw noConversation(id);
}

/** Deletes a conversation of either dialect. Throws `not-found`, and what changeOverV0 throws. */
export async function removeOverV0(
  links: Links,
  facts: ProbeFacts,
  id: string,
  { timeoutMs, isThere }: Pick<ChangeCall, 'timeoutMs' | 'isThere'>,
): Promise<void> {
  const call = { method: 'DELETE', timeoutMs, isThere } as const;
  if (foundNothing(await changeOverV0(links, facts, id, 'delete a conversation', call))) throw noConversation(id);
}

/**
 * Sends the change to V0's route.
 * @param what `rename a conversation`
 * @returns an answer of 404 only where the conversation is not there
 * @throws unsupported where the server does not serve V0, or lacks this route of it
 */
async function changeOverV0(
  links: Links,
  facts: ProbeFacts,
  id: string,
  what: string,
  { isThere, ...call }: ChangeCall,
): Promise<Answer> {
  if (!facts.dialects.includes('v0')) throw cannot(what);
  const path = `/api/conversations/${encodeURIComponent(normalId(id))}`;
  const answer = await links.app.request({ ...call, path, safe: 'idempotent', accept: [404, 405] });
  if (await lacksRoute(answer, isThere)) throw cannot(what, answer);
  return answer;
}

/**
 * Whether an idempotent change of one thing was answered by a server that lacks the route: 405, or 404 while the thing
 * is there. After a lost try of a deletion, a 404 is its success.
 */
export async function lacksRoute({ status, afterLostTry }: Answer, isThere: () => Promise<boolean>): Promise<boolean> {
  return status === 405 || (status === 404 && afterLostTry === undefined && (await isThere()));
}

function cannot(what: string, answer?: Answer): AppError {
  const message = `this server cannot ${what}; servers that serve V0, and 1.11.0 and later, can`;
  return answer === undefined ? new AppError('unsupported', message) : unsupportedBy(answer, message);
}
