/** The connections of one run: which way a request goes (straight, or through a proxy), and their end. */
import { setDefaultResultOrder } from 'node:dns';
import type { Socket } from 'node:net';
import v8 from 'node:v8';
import type { Dispatcher, WebSocket } from 'undici';
import { isLoopback } from './address.ts';
import { loadHttp, loadWeb } from './undici.ts';
import type { HttpLibrary, ProxySettings, Track } from './undici.ts';
import type { Redaction } from './redaction.ts';

const MAX_ANSWER_BYTES = 512 * 1024 * 1024;

export interface NetworkOptions {
  env: Readonly<Record<string, string | undefined>>;
  connectTimeoutMs: number;
  redaction: Redaction;
}

/** `fresh` opens a connection of its own: a request that must not be repeated may not meet one the server just dropped. */
export type ConnectionKind = 'kept' | 'fresh';

export interface Network {
  readonly redaction: Redaction;
  /** The proxy that a request to this address may go through, of its environment; null: none. */
  proxyOf(url: string): string | null;
  send(url: string, kind: ConnectionKind, options: SendOptions): Promise<Dispatcher.ResponseData>;
  openSocket(url: string, headers: Record<string, string>): Promise<WebSocket>;
  close(): Promise<void>;
}

export type SendOptions = Omit<Dispatcher.RequestOptions, 'origin' | 'path'>;

export function createNetwork(options: NetworkOptions): Network {
  // A server on localhost often listens on IPv4 only; the resolver's own order would try ::1 first.
  setDefaultResultOrder('ipv4first');
  const dispatchers = new Map<string, Promise<Dispatcher>>();
  let http: Promise<HttpLibrary> | null = null;
  let closed = false;
  const sockets = new Set<Socket>();

  const track: Track = (connect) => (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result;
      // A connection that failed has none, whatever the types say.
      if (socket) {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      }
      callback(...result);
    });

  const loadLibrary = (): Promise<HttpLibrary> => {
    calmWebAssembly();
    return (http ??= loadHttp());
  };

  const createDispatcher = async (route: 'straight' | 'proxy', kind: ConnectionKind): Promise<Dispatcher> => {
    const library = await loadLibrary();
    const agentOptions = {
      connect: track(library.buildConnector({ timeout: options.connectTimeoutMs })),
      connections: 16,
      maxResponseSize: MAX_ANSWER_BYTES,
      // A kept connection this old may be gone at the other end.
      keepAliveTimeout: 4_000,
      // 0 closes a connection after one request. A short keepAliveTimeout would not: what the server offers wins.
      pipelining: kind === 'kept' ? 1 : 0,
    };
    if (route === 'proxy') return (await loadWeb()).createProxyAgent(proxySettings(options.env), agentOptions, track);
    return new library.Agent(agentOptions);
  };

  const dispatcherFor = (url: string, kind: ConnectionKind): Promise<Dispatcher> => {
    if (closed) return Promise.reject(new Error('the connections of this run are closed'));
    const route = hasProxy(options.env) && !isLoopback(url) ? 'proxy' : 'straight';
    const name = `${route} ${kind}`;
    const known = dispatchers.get(name);
    if (known !== undefined) return known;
    const created = createDispatcher(route, kind);
    dispatchers.set(name, created);
    return created;
  };

  return {
    redaction: options.redaction,
    proxyOf(url) {
      if (isLoopback(url)) return null;
      const { httpProxy, httpsProxy } = proxySettings(options.env);
      return (url.startsWith('https:') ? httpsProxy || httpProxy : httpProxy) || null;
    },
    async send(url, kind, sendOptions) {
      const [dispatcher, library] = await Promise.all([dispatcherFor(url, kind), loadLibrary()]);
      const { origin, pathname, search } = new URL(url);
      return library.request(dispatcher, { ...sendOptions, origin, path: pathname + search });
    },
    async openSocket(url, headers) {
      const dispatcher = await dispatcherFor(url.replace(/^ws/, 'http'), 'fresh');
      const { WebSocket } = await loadWeb();
      return new WebSocket(url, { dispatcher, headers });
    },
    async close() {
      closed = true;
      const open = await Promise.allSettled(dispatchers.values());
      dispatchers.clear();
      const made = open.filter((one) => one.status === 'fulfilled');
      await Promise.allSettled(made.map((one) => one.value.destroy()));
      // A web socket has left its dispatcher, and waits for a peer that may never answer its close.
      for (const socket of sockets) socket.destroy();
    },
  };
}

const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'] as const;

function hasProxy(env: NetworkOptions['env']): boolean {
  return PROXY_VARIABLES.some((name) => (env[name] ?? '') !== '');
}

function proxySettings(env: NetworkOptions['env']): ProxySettings {
  return {
    httpProxy: env['http_proxy'] || env['HTTP_PROXY'] || '',
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || '',
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
  };
}

/**
 * On Node 20 the WebAssembly of undici's parser is optimised in the background, and the process waits for that at its
 * end: 60 to 110 ms after the last line. Newer ones do not have that.
 */
function calmWebAssembly(): void {
  if (process.versions.node.startsWith('20.')) v8.setFlagsFromString('--wasm-tiering-budget=1000000000');
}
