/** `absent` is an error before anything is sent; `unknown` is tried, and the result compared. */
import { AppError, isFailure, isOfKind, nullIf } from '../../base/errors.ts';
import { isJsonType, isMissingRoute } from '../http/answer.ts';
import type { Transport } from '../http/transport.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { Clock } from '../../base/clock.ts';
import type { Dialect } from '../../domain/conversation.ts';

/** Features that no route shows; a document may state them in `info.x-features`. */
export const STATED_FEATURES = [
  'web-interface',
  /** The app server returns each event at once, also while the sandbox does not run. */
  'immediate-events',
  'old-v0-conversations',
  'v0-sandboxes',
  'local-paths',
  'demo-replay',
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
  'stored-changes',
  /** An agent server runs conversations in containers: see client/backend/workspace.ts. */
  'conversation-containers',
  ...STATED_FEATURES,
] as const;

export type Feature = (typeof FEATURES)[number];
export type Presence = 'present' | 'absent' | 'unknown';
export type Features = Record<Feature, Presence>;

export function presenceOf(there: boolean | null): Presence {
  if (there === null) return 'unknown';
  return there ? 'present' : 'absent';
}

export function startMember(
  { v1_start_members: members }: { v1_start_members: string[] | null },
  name: string,
): Presence {
  return presenceOf(members?.includes(name) ?? null);
}

export function featuresThat(features: Features, are: Presence): Feature[] {
  return FEATURES.filter((feature) => features[feature] === are);
}

/** Routes that lack GET, and those that are read by it: a GET of either changes nothing. */
const READABLE = {
  'v1-settings': '/api/v1/settings',
  'send-message': `/api/v1/app-conversations/${'0'.repeat(32)}/send-message`,
};

/** 405 in JSON shows that the path exists, 404 that it does not; any other answer shows nothing. */
export async function readPresence(
  { app, facts, learn }: KnownFacts & { app: Transport },
  feature: keyof typeof READABLE,
): Promise<Presence> {
  if (facts.features[feature] !== 'unknown') return facts.features[feature];
  const call = { path: READABLE[feature], mayBeMissing: true, accept: [404, 405, 500] };
  const answer = await app.request(call).catch(nullIf(isOfKind('server')));
  if (answer === null || answer.status === 500 || !isJsonType(answer.contentType)) return 'unknown';
  await learn(feature, presenceOf(answer.status === 405 || !isMissingRoute(answer)));
  return facts.features[feature];
}

const LIFETIME_MS = 24 * 3_600_000;

export interface ProbeCache {
  get(origin: string): Promise<unknown>;
  set(origin: string, value: unknown): Promise<void>;
  drop(origin: string): Promise<void>;
}

export interface ProbeFacts {
  format: 2;
  dialects: Dialect[];
  flavour: 'local' | 'self-hosted' | 'cloud' | null;
  version: string | null;
  features: Features;
  /** Members that a V1 start takes; null where no document lists them. */
  v1_start_members: string[] | null;
  echoes_ids: boolean;
  probed_at_ms: number;
}

/** `transient`: the document was not understood this time, so the facts must not be cached. */
export interface Probed {
  facts: ProbeFacts;
  holds: 'lasting' | 'transient';
}

export interface KnownFacts {
  readonly facts: ProbeFacts;
  learn(feature: Feature, presence: Presence): Promise<void>;
  learnEcho(): Promise<void>;
}

export interface ServerFacts extends KnownFacts {
  /** The error when the server has changed; null when the answer is to be taken literally. */
  probeAgain(): Promise<AppError | null>;
}

/** Probed once, cached for a day, and probed again when an answer contradicts them. */
export async function readServerFacts(
  { cache, clock }: { cache?: ProbeCache; clock: Clock },
  baseUrl: string,
  probe: () => Promise<Probed>,
): Promise<ServerFacts> {
  const cached = readFacts(await cache?.get(baseUrl));
  const before = cached !== null && clock.now() - cached.probed_at_ms < LIFETIME_MS ? cached : null;
  let state: 'cached' | Probed['holds'] = 'cached';
  let facts: ProbeFacts;
  const keep = async () => {
    if (state !== 'transient') await cache?.set(baseUrl, facts);
  };
  if (before !== null && hasDocument(before)) facts = before;
  else {
    ({ facts, holds: state } = await probe());
    if (before !== null && !hasDocument(facts)) {
      const { features, echoes_ids, probed_at_ms } = before;
      Object.assign(facts, { features, echoes_ids, probed_at_ms });
    }
    await keep();
  }
  const changed = async () => {
    const isCached = state === 'cached';
    state = 'transient';
    await cache?.drop(baseUrl);
    const probed = isCached ? await probe().catch(nullIf(isFailure)) : null;
    if (probed === null) return null;
    const { facts: now, holds } = probed;
    if (holds === 'lasting') await cache?.set(baseUrl, now);
    // Without a document only another dialect shows a change of the server.
    const isComparable =
      hasDocument(now) || !now.dialects.some((dialect) => facts.dialects.includes(dialect));
    return isComparable ? changeBetween(facts, now) : null;
  };
  let change: Promise<AppError | null> | null = null;
  return {
    facts,
    async learn(feature, presence) {
      if (facts.features[feature] === presence) return;
      facts.features[feature] = presence;
      await keep();
    },
    async learnEcho() {
      if (facts.echoes_ids) return;
      facts.echoes_ids = true;
      await keep();
    },
    probeAgain: () => (change ??= changed()),
  };
}

function hasDocument({ features }: ProbeFacts): boolean {
  return STATED_FEATURES.some((feature) => features[feature] !== 'unknown');
}

function changeBetween(before: ProbeFacts, after: ProbeFacts): AppError | null {
  const differs = (feature: Feature) => {
    const both = [before.features[feature], after.features[feature]];
    return both[0] !== both[1] && !both.includes('unknown');
  };
  const isSame =
    before.dialects.join() === after.dialects.join() && before.version === after.version;
  if (isSame && !FEATURES.some(differs)) return null;
  const nameOf = (dialect: Dialect): string =>
    dialect === 'agent' ? 'that of an agent server' : dialect.toUpperCase();
  const words = ({ dialects, version }: ProbeFacts) =>
    (dialects.map(nameOf).join(' and ') || 'neither V0 nor V1') +
    (version === null ? '' : ` (release ${version})`);
  return new AppError(
    'server',
    `the server has changed since acs last read its features: it spoke ${words(before)}, ` +
      `now ${words(after)}`,
    { hint: 'run the command again: it uses the new facts', retryable: true },
  );
}

/** Null for facts of another release of acs, and for a damaged file. */
function readFacts(value: unknown): ProbeFacts | null {
  if (!isRecord(value) || value['format'] !== 2) return null;
  const { features, dialects, v1_start_members: members, probed_at_ms: probedAtMs } = value;
  const hasFeatures =
    isRecord(features) && FEATURES.every((name) => typeof features[name] === 'string');
  const hasLists = Array.isArray(dialects) && (members === null || Array.isArray(members));
  return hasFeatures && hasLists && typeof probedAtMs === 'number'
    ? (value as unknown as ProbeFacts)
    : null;
}
