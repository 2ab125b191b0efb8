/**
 * A scripted server for command tests that accepts every request and follows only some of them; see
 * loose-server.ts.
 */
import { beforeEach } from 'vitest';
import {
  looseServer,
  type LooseOptions,
  type LooseServer,
} from '../client/support/loose-server.ts';
import type { Clock } from '../../src/base/clock.ts';
import { idleClock } from './idle-clock.ts';
import { useWorld, type Suite } from './use-world.ts';

export interface LooseSuite extends Suite {
  readonly loose: LooseServer;
  readonly clock: Clock;
  /** Replaces the server of the test. */
  serve(options: LooseOptions): void;
  /** Starts a conversation. */
  start(message: string, ...flags: string[]): Promise<{ id: string; sandbox: string }>;
  /** Starts so many conversations that share one sandbox and have ended. */
  sharing(count: number): Promise<{ ids: string[]; sandbox: string }>;
  /** The DELETE requests to paths that begin with this. */
  deletions(route: string): string[];
}

/**
 * For the enclosing suite. Each test begins with a server without conversations, of which acs knows
 * nothing.
 */
export function useLoose(options: LooseOptions = {}): LooseSuite {
  const clock = idleClock(30);
  let loose: LooseServer;
  const world = useWorld({
    clock: () => clock,
    configPer: 'test',
    script: (asked) => loose.handler(asked),
  });
  const at = Object.assign(world, {
    clock,
    serve: (changed: LooseOptions) => void (loose = looseServer(() => world.server.url, changed)),
    async start(message: string, ...flags: string[]) {
      const line = ['conv', 'new', message, '--no-repo', ...flags];
      const { id, sandbox_id } = await world.json<{ id: string; sandbox_id: string }>(line);
      return { id, sandbox: sandbox_id };
    },
    async sharing(count: number) {
      const { id, sandbox } = await at.start('hello', '--wait');
      const ids = [id];
      while (ids.length < count)
        ids.push((await at.start('hello', '--wait', '--sandbox', sandbox)).id);
      return { ids, sandbox };
    },
    deletions: (route: string) =>
      world.server.lines().filter((line) => line.startsWith(`DELETE ${route}`)),
  });
  beforeEach(() => at.serve(options));
  return Object.defineProperty(at, 'loose', { get: () => loose }) as typeof at & LooseSuite;
}
