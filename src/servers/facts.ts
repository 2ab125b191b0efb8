/**
 * What is known of a server: asked once, remembered for a day, and asked anew when a route is missing that should be
 * there. A server that was upgraded meanwhile is told as such, instead of by whatever its missing route seems to say.
 */
import { AppError, isAppError } from '../errors.ts';
import type { probe, ProbeFacts } from './probe.ts';
import type { ConnectOptions } from './options.ts';

const LIFETIME_MS = 24 * 3_600_000;

export interface ServerFacts {
  readonly now: ProbeFacts;
  /**
   * A route that should be there is not: what is remembered is dropped, and the server asked anew, once. The error when
   * it has become another one; null when the answer means what it says.
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
  const now = remembered ?? (await asked()).facts;
  let change: Promise<AppError | null> | null = null;
  const changed = async (before: ProbeFacts): Promise<AppError | null> => {
    await cache?.drop(baseUrl);
    try {
      const { facts, holds } = await asked();
      // What was guessed this once is no change of the server.
      return holds === 'lasting' ? changeBetween(before, facts) : null;
    } catch (error) {
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
      return null;
    }
  };
  return {
    now,
    async lookAgain() {
      if (remembered !== null) return await (change ??= changed(remembered));
      await cache?.drop(baseUrl);
      return null;
    },
  };
}

function changeBetween(before: ProbeFacts, after: ProbeFacts): AppError | null {
  if (shape(before) === shape(after)) return null;
  return new AppError(
    'server',
    `the server has changed since acs last asked what it is: it spoke ${words(before)}, now ${words(after)}`,
    { hint: 'run the command again: acs knows it now', retryable: true },
  );
}

function shape({ dialects, features, version }: ProbeFacts): string {
  return JSON.stringify([dialects, features, version]);
}

function words({ dialects, version }: ProbeFacts): string {
  const spoken = dialects.map((dialect) => dialect.toUpperCase()).join(' and ');
  return version === null ? spoken : `${spoken} (release ${version})`;
}

function readFacts(value: unknown): ProbeFacts | null {
  if (typeof value !== 'object' || value === null) return null;
  const facts = value as Partial<ProbeFacts>;
  const good =
    facts.format === 1 && Array.isArray(facts.dialects) && facts.dialects.length > 0 && Array.isArray(facts.features);
  return good && typeof facts.probed_at_ms === 'number' ? (facts as ProbeFacts) : null;
}
