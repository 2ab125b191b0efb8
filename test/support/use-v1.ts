/**
 * A scripted V1 server for command tests, with conversations, start tasks, events and sandboxes
 * that a test sets.
 */
import { beforeEach } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { v1Server, type V1Server } from '../client/support/v1-world.ts';
import { idleClock } from './idle-clock.ts';
import { useWorld, type Suite, type SuiteOptions } from './use-world.ts';

export type V1Suite = Suite & { readonly v1: V1Server };

/**
 * For the enclosing suite. Each test begins with a server without conversations and without
 * sandboxes.
 */
export function useV1({
  release,
  ...options
}: Pick<SuiteOptions, 'clock' | 'noun'> & { release?: '1.11.0' | '1.6.0' } = {}): V1Suite {
  let v1: V1Server;
  const at = useWorld({ ...options, script: (asked) => v1.handler(asked) });
  beforeEach(() => {
    v1 = v1Server(() => at.server.url, release);
    v1.sandboxes = new Map();
  });
  return Object.defineProperty(at, 'v1', { get: () => v1 }) as V1Suite;
}

/**
 * Its commands and the test share a clock that passes only while this process has nothing to do,
 * and then 30 times as fast as on the wall: a server may be 30 s late.
 */
export function useIdleV1(): V1Suite & { clock: Clock } {
  const clock = idleClock(30);
  return Object.assign(useV1({ clock: () => clock }), { clock });
}
