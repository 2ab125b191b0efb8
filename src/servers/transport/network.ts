/** The connections of one run: which way a request goes (straight, or through a proxy), and their end. */
import { setDefaultResultOrder } from 'node:dns';
import { isIP, setDefaultAutoSelectFamilyAttemptTimeout, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { buildConnector, Dispatcher, WebSocket } from 'undici';
import { isLoopback } from './address.ts';
import { MOST_FRAME_BYTES, tooLarge } from './body.ts';
import type { Redaction } from './redaction.ts';
import { type ConnectionKind, createStraight, type Received, type Sending } from './straight.ts';
import { LIMITS_MS } from './time-limits.ts';

export interface NetworkOptions {
  env: Readonly<Record<string, string | undefined>>;
  connectTimeoutMs: number;
  redaction: Redaction;
}

export type { ConnectionKind } from './straight.ts';

export interface Network {
  readonly redaction: Redaction;
  /** The proxy that a request to this address may go through, of its environment; null: none. */
  proxyOf(url: string): string | null;
  send(url: string, kind: ConnectionKind, sending: Sending): Promise<Received>;
  /** For a request that `send` cannot make: a client with a connection of its own. */
  dispatcher(url: string): Promise<Dispatcher>;
  openSocket(url: string, headers: Record<string, string>): Promise<WebSocket>;
  close(): Promise<void>;
}

const CLOSED = 'the connections of this run are closed';

export function createNetwork(options: NetworkOptions): Network {
  const straight = createStraight({
    connectTimeoutMs: options.connectTimeoutMs,
    idleMs: LIMITS_MS.idleConnection,
  });
  const dispatchers = new Map<string, Promise<Dispatcher>>();
  let closed = false;
  const sockets = new Set<Socket>();

  const track =
    (connect: buildConnector.connector): buildConnector.connector =>
    (target, callback) =>
      connect(target, (...result) => {
        const [, socket] = result;
        // A connection that failed has none, whatever the types say.
        if (socket) {
          sockets.add(socket);
          socket.once('close', () => sockets.delete(socket));
        }
        callback(...result);
      });

  const createDispatcher = async (route: 'straight' | 'proxy', kind: ConnectionKind): Promise<Dispatcher> => {
    const undici = await loadUndici();
    const agentOptions = {
      connect: track(undici.buildConnector({ timeout: options.connectTimeoutMs })),
      connections: 16,
      keepAliveTimeout: LIMITS_MS.idleConnection,
      // 0 closes a connection after one request. A short keepAliveTimeout would not: what the server offers wins.
      pipelining: kind === 'kept' ? 1 : 0,
      webSocket: { maxPayloadSize: MOST_FRAME_BYTES },
    };
    if (route === 'straight') return new undici.Agent(agentOptions);
    return new undici.EnvHttpProxyAgent({
      ...agentOptions,
      ...proxySettings(options.env),
      clientFactory: (origin, pool: { connect?: unknown }) =>
        new undici.Pool(origin, { ...pool, connect: track(pool.connect as buildConnector.connector) }),
    });
  };

  const isProxied = (url: string): boolean => hasProxy(options.env) && !isLoopback(url);

  const dispatcherFor = (url: string, kind: ConnectionKind): Promise<Dispatcher> => {
    const route = isProxied(url) ? 'proxy' : 'straight';
    const name = `${route} ${kind}`;
    const known = dispatchers.get(name);
    if (known !== undefined) return known;
    const created = createDispatcher(route, kind);
    dispatchers.set(name, created);
    return created;
  };

  const ownDispatcher = async (url: string): Promise<Dispatcher> => {
    prepareResolving(url);
    if (closed) throw new Error(CLOSED);
    return await dispatcherFor(url, 'fresh');
  };

  const sendThroughProxy = async (url: string, kind: ConnectionKind, sending: Sending): Promise<Received> => {
    const dispatcher = await dispatcherFor(url, kind);
    const { origin, pathname, search } = new URL(url);
    const { method, headers, body, silenceMs, maxBytes, signal } = sending;
    const response = await dispatcher.request({
      ...{ origin, path: pathname + search, method, headers, body, signal },
      ...{ headersTimeout: silenceMs, bodyTimeout: silenceMs },
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
    }
    return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) };
  };

  return {
    redaction: options.redaction,
    proxyOf(url) {
      if (isLoopback(url)) return null;
      const { httpProxy, httpsProxy } = proxySettings(options.env);
      return (url.startsWith('https:') ? httpsProxy || httpProxy : httpProxy) || null;
    },
    async send(url, kind, sending) {
      prepareResolving(url);
      if (closed) throw new Error(CLOSED);
      return await (isProxied(url) ? sendThroughProxy : straight.send)(url, kind, sending);
    },
    dispatcher: ownDispatcher,
    async openSocket(url, headers) {
      const dispatcher = await ownDispatcher(url.replace(/^ws/, 'http'));
      const { WebSocket } = await loadUndici();
      return new WebSocket(url, { dispatcher, headers });
    },
    async close() {
      closed = true;
      straight.close();
      const open = await Promise.allSettled(dispatchers.values());
      dispatchers.clear();
      const made = open.filter((one) => one.status === 'fulfilled');
      await Promise.allSettled(made.map((one) => one.value.destroy()));
      // A web socket has left its dispatcher, and waits for a peer that may never answer its close.
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A server on localhost often listens on IPv4 only; the resolver's own order would try ::1 first. */
function prepareResolving(url: string): void {
  // An address needs no resolver, and loading it is 1 % of a short command.
  if (isIP(new URL(url).hostname) !== 0) return;
  setDefaultResultOrder('ipv4first');
  setDefaultAutoSelectFamilyAttemptTimeout(LIMITS_MS.address);
}

const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'] as const;

function hasProxy(env: NetworkOptions['env']): boolean {
  return PROXY_VARIABLES.some((name) => (env[name] ?? '') !== '');
}

function proxySettings(env: NetworkOptions['env']) {
  return {
    httpProxy: env['http_proxy'] || env['HTTP_PROXY'] || '',
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || '',
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
  };
}

/**
 * The client for what Node's own (straight.ts) does not do: proxies and web sockets. On Node 20 the WebAssembly of its
 * parser is optimised in the background, and the process waits for that at its end: 60 to 110 ms after the last line.
 * Newer ones do not have that.
 */
async function loadUndici() {
  if (process.versions.node.startsWith('20.')) setFlagsFromString('--wasm-tiering-budget=1000000000');
  // In the build, an import of a CommonJS package yields its exports under `default` alone.
  return (await import('undici')).default;
}
