/** The one place that loads undici, for what Node's own client (straight.ts) does not do: proxies and web sockets. */
import type { Agent, buildConnector, Dispatcher, WebSocket } from 'undici';

export interface Undici {
  Agent: typeof Agent;
  WebSocket: typeof WebSocket;
  buildConnector: typeof buildConnector;
  /** An agent with the given proxy settings; `track` wraps each connection it opens. */
  createProxyAgent(settings: ProxySettings, options: Agent.Options, track: Track): Dispatcher;
}

export type Track = (connect: buildConnector.connector) => buildConnector.connector;

export interface ProxySettings {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
}

export async function loadUndici(): Promise<Undici> {
  // In the build, an import of a CommonJS package yields its exports under `default` alone.
  const { default: undici } = await import('undici');
  return {
    Agent: undici.Agent,
    WebSocket: undici.WebSocket,
    buildConnector: undici.buildConnector,
    createProxyAgent: (settings, options, track) =>
      new undici.EnvHttpProxyAgent({
        ...options,
        ...settings,
        clientFactory: (origin, pool: { connect?: unknown }) =>
          new undici.Pool(origin, { ...pool, connect: track(pool.connect as buildConnector.connector) }),
      }),
  };
}
