import { describe, expect, it } from 'vitest';
import { createServerFacts } from '../../src/servers/facts.ts';
import { FEATURES, type Features } from '../../src/servers/features.ts';
import type { ProbeFacts } from '../../src/servers/probe.ts';
import { quickClock } from './support/connect.ts';

const UNKNOWN = Object.fromEntries(FEATURES.map((feature) => [feature, 'unknown'])) as Features;
const FACTS: ProbeFacts = {
  format: 2,
  dialects: ['v1'],
  flavour: 'self-hosted',
  version: '1.11.0',
  features: { ...UNKNOWN, events: 'present' },
  v1_start_members: null,
  echoes_ids: false,
  probed_at_ms: 0,
};

/** Cached facts of a server that answers the next probe with `facts`. */
async function remembering(facts: ProbeFacts, holds: 'lasting' | 'for-now') {
  const clock = quickClock();
  const cache = {
    get: () => Promise.resolve({ ...FACTS, probed_at_ms: clock.now() }),
    set: () => Promise.resolve(),
    drop: () => Promise.resolve(),
  };
  let asked = 0;
  const found = await createServerFacts({ cache, clock, local: false }, 'http://host', () => {
    asked += 1;
    return Promise.resolve({ facts, holds });
  });
  return { found, count: () => asked };
}

describe('a server whose route is missing', () => {
  it('is probed again, once, and has changed when the new facts differ', async () => {
    const { found, count } = await remembering({ ...FACTS, version: '1.12.0' }, 'lasting');
    const [one, other] = await Promise.all([found.lookAgain(), found.lookAgain()]);
    expect(one?.message).toContain('now V1 (release 1.12.0)');
    expect(other).toBe(one);
    expect(count()).toBe(1);
  });

  it('has not changed when the new probe is incomplete', async () => {
    const { found } = await remembering({ ...FACTS, version: null, features: UNKNOWN }, 'for-now');
    expect(await found.lookAgain()).toBeNull();
  });
});
