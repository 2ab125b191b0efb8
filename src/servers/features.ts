/**
 * What a server has, per feature: `present` or `absent` where its document or a route's answer shows it, else
 * `unknown`. Nothing is concluded from a release or from another feature. `absent` is an error before anything is
 * sent; `unknown` is tried, and its result is compared with the request.
 */
import { isAppError } from '../errors.ts';
import { isJsonType, serverText, type Answer } from './transport/answer.ts';
import type { Call } from './transport/call.ts';

/**
 * Features that no route shows. A document may state them in `info.x-features`, as that of the local service does; the
 * documents of OpenHands servers have no such member.
 */
export const STATED_FEATURES = [
  /** The server has pages for browsers, one for each conversation. */
  'web-interface',
  /** The app server returns each event as soon as the sandbox has it, also while the sandbox does not run. */
  'immediate-events',
  /** The list of V0 has conversations of any age. */
  'old-v0-conversations',
  /** The record of a V0 conversation names the sandbox that it runs in. */
  'v0-sandboxes',
  /** A repository may be the path of a folder, which the server clones itself. */
  'local-paths',
  /** A start takes the built-in recorded run `demo` for a replay. */
  'demo-replay',
  /** The agent server runs programs over a socket of its own: byte for byte, with stdin and terminals. */
  'exec-socket',
] as const;

export const FEATURES = [
  'replay',
  'caller-conversation-id',
  'send-message',
  'delete-conversation',
  'rename',
  'v1-settings',
  'settings-schema',
  'model-profiles',
  'secrets',
  'v1-secrets',
  'git-providers',
  'repositories',
  'v1-git',
  'events',
  'sandboxes',
  'page-links',
  ...STATED_FEATURES,
] as const;

export type Feature = (typeof FEATURES)[number];
export type Presence = 'present' | 'absent' | 'unknown';
export type Features = Record<Feature, Presence>;

/** The features of one server, shared by everything in a command that uses it. */
export interface KnownFeatures {
  of(feature: Feature): Presence;
  /** Keeps what an answer has shown, also for later commands where the facts are kept. */
  learn(feature: Feature, presence: Presence): Promise<void>;
  /** Keeps that the server has started a conversation with an id that the caller chose. */
  learnEcho(): Promise<void>;
}

export function presenceOf(there: boolean | null): Presence {
  return there === null ? 'unknown' : there ? 'present' : 'absent';
}

/** Whether a V1 start takes this member; `members` are those that the document lists, null without a list. */
export function startMember(
  { v1_start_members: members }: { v1_start_members: string[] | null },
  name: string,
): Presence {
  return presenceOf(members?.includes(name) ?? null);
}

export function featuresThat(features: Features, are: Presence): Feature[] {
  return FEATURES.filter((feature) => features[feature] === are);
}

/** Whether the answer is that of a server without this route (a missing record has an error of its own). */
export function isMissingRoute({ status, body }: Answer): boolean {
  return status === 405 || (status === 404 && serverText(body) === 'Not Found');
}

/** An id that no conversation has. */
const NOBODY = '00000000000000000000000000000000';

/** Routes that lack GET, and those that are read by it: a GET of either changes nothing. */
const READABLE: Partial<Record<Feature, string>> = {
  'v1-settings': '/api/v1/settings',
  'send-message': `/api/v1/app-conversations/${NOBODY}/send-message`,
};

/**
 * The presence of a route, read without side effects where it is not known yet: 405 in JSON shows that the path is
 * there, 404 in JSON for no route that it is not. Any other answer, such as a web page for every path, shows nothing.
 */
export async function readPresence(
  known: KnownFeatures,
  request: (call: Call) => Promise<Answer>,
  feature: Feature,
): Promise<Presence> {
  const path = READABLE[feature];
  if (known.of(feature) !== 'unknown' || path === undefined) return known.of(feature);
  const call = { method: 'GET', path, safe: 'read', mayBeMissing: true, accept: [404, 405, 500] } as const;
  try {
    const answer = await request(call);
    const shown = !isJsonType(answer.contentType) ? null : answer.status === 405 || !isMissingRoute(answer);
    if (answer.status === 500 || shown === null) return 'unknown';
    await known.learn(feature, presenceOf(shown));
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'server') throw error;
  }
  return known.of(feature);
}
