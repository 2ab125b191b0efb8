/** `conv new` against a real service. */
import { TestClock } from '../../support/test-clock.ts';
import { useProxiedWorld, type ProxiedWorld } from '../../support/proxied-world.ts';
import type { Ended, Invocation, World } from '../../support/world.ts';
import { finish, replayFile, run, until } from './support.ts';

export interface NewWorld extends Pick<ProxiedWorld, 'world' | 'proxy'> {
  /** Runs `conv new` in the folder of the world. */
  acs: (...args: string[]) => Promise<Ended>;
  acsIn: (cwd: string, ...args: string[]) => Promise<Ended>;
  /** The requests that are no read, with method and path as `route`. */
  sent: () => { route: string; body: unknown }[];
  /** Body of the first of them. */
  sentBody: () => Record<string, unknown>;
}

/** A world for the enclosing suite, whose `conv new` goes through a recording proxy. */
export function useNewWorld(): NewWorld {
  const at = useProxiedWorld('conv', { spec: 'process' });
  const acsIn: NewWorld['acsIn'] = (cwd, ...args) =>
    at.world.invoke({ args: ['conv', 'new', ...args], cwd, env: { ACS_BASE_URL: at.proxy.url } });
  const sent = () => at.proxy.writes().map(({ method, path, body }) => ({ route: `${method} ${path}`, body }));
  return {
    get world() {
      return at.world;
    },
    get proxy() {
      return at.proxy;
    },
    acs: (...args) => at.acs('new', ...args),
    acsIn,
    sent,
    sentBody: () => sent()[0]?.body as Record<string, unknown>,
  };
}

/** Starts a long run that `flags` wait for, and calls `then` when the command has printed that it is running. */
export async function waitedFor(
  world: World,
  then: (clock: TestClock) => void,
  flags: string[],
  rest: Partial<Invocation> = {},
): Promise<Ended> {
  const clock = new TestClock({ movedBy: 'real-time', limitMs: 5_000, startMs: Date.now() });
  let printed = '';
  const keep = (text: string) => (printed += text);
  const replay = await replayFile(world, 'long.json', [run('sleep 600'), finish('done')]);
  const args = ['conv', 'new', '--no-repo', '--replay', replay, ...flags];
  const waiting = world.invoke({ args, onOut: keep, onErr: keep, clock, ...rest });
  await until(() => /conversation \w+: running|· running/.test(printed));
  then(clock);
  return await waiting;
}

/** Waits for a long run until the limit of the wait has passed. */
export function pastDeadline(world: World, ...flags: string[]): Promise<Ended> {
  return waitedFor(world, (clock) => clock.moveTo(clock.now() + 30 * 60_000), ['--wait-timeout', '30m', ...flags]);
}
