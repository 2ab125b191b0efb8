/**
 * The facts of a server: probed once, cached for a day, and probed again when an answer contradicts them. A server
 * that was upgraded meanwhile is an error that states this, not the error of a missing route.
 */
import { AppError, isAppError } from '../errors.ts';
import { isRecord } from '../protocol/shape.ts';
import { FEATURES, type KnownFeatures, type Presence } from './features.ts';
import type { probe, ProbeFacts } from './probe.ts';
import type { ConnectOptions } from './connect-options.ts';

const LIFETIME_MS = 24 * 3_600_000;

export interface ServerFacts {
  readonly now: ProbeFacts;
  readonly features: KnownFeatures;
  /**
   * An answer contradicts the facts: the cached ones are deleted and the server is probed again, once. Returns the error
   * when the server has changed; null when the answer is to be taken literally.
   */
  lookAgain(): Promise<AppError | null>;
}

/** Throws what `ask` throws. */
export async function createServerFacts(
  { cache, clock, local }: Pick<ConnectOptions, 'cache' | 'clock' | 'local'>,
  baseUrl: string,
  ask: () => ReturnType<typeof probe>,
): Promise<ServerFacts> {
  const asked: typeof ask = async () => {
    const { facts, holds } = await ask();
    const kept: ProbeFacts = local ? { ...facts, flavour: 'local' } : facts;
    if (holds === 'lasting') await cache?.set(baseUrl, kept);
    return { facts: kept, holds };
  };
  const found = readFacts(await cache?.get(baseUrl));
  const remembered = found !== null && clock.now() - found.probed_at_ms < LIFETIME_MS ? found : null;
  const first = remembered === null ? await asked() : { facts: remembered, holds: 'lasting' as const };
  const now = first.facts;
  const keep = async (): Promise<void> => {
    if (first.holds === 'lasting' && !dropped) await cache?.set(baseUrl, now);
  };
  let dropped = false;
  let change: Promise<AppError | null> | null = null;
  const changed = async (before: ProbeFacts): Promise<AppError | null> => {
    dropped = true;
    await cache?.drop(baseUrl);
    try {
      const { facts, holds } = await asked();
      // Facts that were read without the document show no change of the server.
      return holds === 'lasting' ? changeBetween(before, facts) : null;
    } catch (error) {
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
      return null;
    }
  };
  return {
    now,
    features: {
      of: (feature) => now.features[feature],
      async learn(feature, presence) {
        if (now.features[feature] === presence) return;
        now.features[feature] = presence;
        await keep();
      },
      async learnEcho() {
        if (now.echoes_ids) return;
        now.echoes_ids = true;
        await keep();
      },
    },
    async lookAgain() {
      if (remembered !== null) return await (change ??= changed(structuredClone(remembered)));
      dropped = true;
      await cache?.drop(baseUrl);
      return null;
    },
  };
}

function changeBetween(before: ProbeFacts, after: ProbeFacts): AppError | null {
  const isSame = before.dialects.join() === after.dialects.join() && before.version === after.version;
  if (isSame && FEATURES.every((feature) => !differ(before.features[feature], after.features[feature]))) return null;
  return new AppError(
    'server',
    `the server has changed since acs last asked what it is: it spoke ${words(before)}, now ${words(after)}`,
    { hint: 'run the command again: the new facts are stored now', retryable: true },
  );
}

function differ(before: Presence, after: Presence): boolean {
  return before !== after && before !== 'unknown' && after !== 'unknown';
}

function words({ dialects, version }: ProbeFacts): string {
  const spoken = dialects.map((dialect) => dialect.toUpperCase()).join(' and ');
  return version === null ? spoken : `${spoken} (release ${version})`;
}

function readFacts(value: unknown): ProbeFacts | null {
  if (!isRecord(value) || value['format'] !== 2) return null;
  const { dialects, features, probed_at_ms: probedAtMs, v1_start_members: members } = value;
  const isGood =
    Array.isArray(dialects) &&
    dialects.length > 0 &&
    isRecord(features) &&
    FEATURES.every((feature) => typeof features[feature] === 'string') &&
    (members === null || Array.isArray(members)) &&
    typeof probedAtMs === 'number';
  return isGood ? (value as unknown as ProbeFacts) : null;
}
