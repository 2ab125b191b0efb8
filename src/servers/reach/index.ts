/** Connects the steps of a request (reach.ts) to the environment of the command. */
import type { Clock } from '../../clock.ts';
import type { SecretKeeper } from '../../text/secret-keeper.ts';
import { endpointOf, isLoopback } from '../transport/address.ts';
import { createNetwork } from '../transport/network.ts';
import { createRedaction } from '../transport/redaction.ts';
import { askPlainly } from './answer.ts';
import type { ProxyRoute, Reach } from './reach.ts';
import { resolveHost } from './resolve.ts';
import { routeOf } from './route.ts';
import { openSocket, openTunnel, shakeHands } from './socket.ts';

export interface ReachOptions {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
  secrets: SecretKeeper;
  /** The program that runs acs: Node. */
  node: string;
  /** Of one step. */
  timeoutMs: number;
}

export function createReach({ env, clock, signal, secrets, node, timeoutMs }: ReachOptions): Reach {
  const limits = { timeoutMs, signal };
  const addressesOf = (url: string) => resolveHost(endpointOf(url).host, { node, env, ...limits });
  const socketTo = (url: string, addresses: readonly string[]) => openSocket({ ...endpointOf(url), addresses }, limits);
  const tunnelTo = async (url: string, proxy: ProxyRoute) =>
    await openTunnel(url, proxy, await addressesOf(proxy.url), limits);
  return {
    route: (url) => routeOf(url, env),
    isLoopback,
    addressesOf,
    async connect(url, addresses) {
      const { host, port } = endpointOf(url);
      const socket = await socketTo(url, addresses);
      const address = socket.remoteAddress ?? host;
      socket.destroy();
      return { address, port };
    },
    async tunnel(url, proxy) {
      (await tunnelTo(url, proxy)).destroy();
    },
    async handshake(url, route) {
      if (route.via === 'proxy') return await shakeHands(await tunnelTo(url, route), url, limits);
      return await shakeHands(await socketTo(url, await addressesOf(url)), url, limits);
    },
    async answer(url) {
      const network = createNetwork({ env, connectTimeoutMs: timeoutMs, redaction: createRedaction([], secrets) });
      try {
        return await askPlainly(url, network, { ...limits, now: () => clock.now() });
      } finally {
        await network.close();
      }
    },
  };
}
