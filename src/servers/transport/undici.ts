/**
 * The one place that loads undici. Plain requests take its dispatcher and request modules by their paths inside the
 * package: that half is loaded in a third of the time of the whole (which also brings fetch, caches and mocks). The
 * paths are not part of undici's promise, so the version is pinned and a test loads both halves.
 */
import type { Agent, Dispatcher, WebSocket } from 'undici';

export interface HttpLibrary {
  Agent: typeof Agent;
  request(dispatcher: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
}

export interface WebLibrary {
  WebSocket: typeof WebSocket;
  /** Agent that obeys the proxy settings given. */
  createProxyAgent(settings: ProxySettings, options: Agent.Options): Dispatcher;
}

export interface ProxySettings {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
}

type RequestFunction = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

export async function loadHttp(): Promise<HttpLibrary> {
  const [agentModule, requestModule] = await Promise.all([
    import('undici/lib/dispatcher/agent.js'),
    import('undici/lib/api/api-request.js'),
  ]);
  const request: RequestFunction = requestModule.default;
  return {
    Agent: agentModule.default,
    request: (dispatcher, options) => request.call(dispatcher, options),
  };
}

export async function loadWeb(): Promise<WebLibrary> {
  // In the build, an import of a CommonJS package yields its exports under `default` alone.
  const { default: undici } = await import('undici');
  return {
    WebSocket: undici.WebSocket,
    createProxyAgent: (settings, options) => new undici.EnvHttpProxyAgent({ ...options, ...settings }),
  };
}
