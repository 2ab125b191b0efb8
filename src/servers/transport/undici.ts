/**
 * The one place that loads undici. Plain requests take its dispatcher and request modules by their paths inside the
 * package: that half is loaded in a third of the time of the whole (which also brings fetch, caches and mocks). The
 * paths are not part of undici's promise, so the version is pinned and a test loads both halves.
 */
import type { Agent, buildConnector, Dispatcher, WebSocket } from 'undici';

export interface HttpLibrary {
  Agent: typeof Agent;
  buildConnector: typeof buildConnector;
  request(dispatcher: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
}

export interface WebLibrary {
  WebSocket: typeof WebSocket;
  /** Agent that obeys the proxy settings given; `track` is put around each way it connects. */
  createProxyAgent(settings: ProxySettings, options: Agent.Options, track: Track): Dispatcher;
}

export type Track = (connect: buildConnector.connector) => buildConnector.connector;

export interface ProxySettings {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
}

type RequestFunction = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

export async function loadHttp(): Promise<HttpLibrary> {
  const [agentModule, requestModule, connectModule] = await Promise.all([
    import('undici/lib/dispatcher/agent.js'),
    import('undici/lib/api/api-request.js'),
    import('undici/lib/core/connect.js'),
  ]);
  const request: RequestFunction = requestModule.default;
  return {
    Agent: agentModule.default,
    buildConnector: connectModule.default,
    request: (dispatcher, options) => request.call(dispatcher, options),
  };
}

export async function loadWeb(): Promise<WebLibrary> {
  // In the build, an import of a CommonJS package yields its exports under `default` alone.
  const { default: undici } = await import('undici');
  return {
    WebSocket: undici.WebSocket,
    createProxyAgent: (settings, options, track) =>
      new undici.EnvHttpProxyAgent({
        ...options,
        ...settings,
        clientFactory: (origin, pool: { connect?: unknown }) =>
          new undici.Pool(origin, { ...pool, connect: track(pool.connect as buildConnector.connector) }),
      }),
  };
}
