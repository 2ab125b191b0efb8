import { setDefaultResultOrder } from 'node:dns';
import { setMaxListeners } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { isIP, setDefaultAutoSelectFamilyAttemptTimeout, type Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import zlib from 'node:zlib';
import type { WebSocket } from 'ws';
import type { Clock } from '../../base/clock.ts';
import { AppError, isAppError } from '../../base/errors.ts';
import { endpointOf, isLoopback } from './address.ts';
import type { Redaction } from './redaction.ts';
import { AnswerLimit, LIMITS_MS } from './time-limits.ts';
import { cut } from '../../base/text/well-formed.ts';

interface NetworkOptions {
  env: Readonly<Record<string, string | undefined>>;
  connectTimeoutMs: number;
  redaction: Redaction;
  /** After this time the server may close an unused connection. */
  idleMs?: number;
}

/** `fresh`: for a request that must not be sent on a connection that the server has just closed. */
type ConnectionKind = 'kept' | 'fresh';

export interface Sending {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /**
   * How long the server may send nothing, before its answer and within it; the answer may take a
   * multiple of it.
   */
  silenceMs: number;
  clock: Clock;
  /** Of the body, before and after decoding. */
  maxBytes: number;
  signal: AbortSignal;
  /** Receives the body of an answer of 2xx; `bytes` is then empty. */
  into?: ((part: Uint8Array) => Promise<void>) | undefined;
}

/** A frame holds one event. */
const MOST_FRAME_BYTES = 128 * 1024 * 1024;

export const ACCEPTED_ENCODINGS = 'gzip, br';

export class Network {
  readonly redaction: Redaction;
  readonly #options: NetworkOptions;
  readonly #agents = new Map<string, http.Agent>();
  readonly #webSockets = new Set<WebSocket>();
  /** An agent does not report which sockets were used before. */
  readonly #connected = new WeakSet<Socket>();
  readonly #closing = new AbortController();

  constructor(options: NetworkOptions) {
    // Each connection to a proxy that is being made adds a listener; above ten Node reports a leak
    // on stderr.
    setMaxListeners(0, this.#closing.signal);
    this.redaction = options.redaction;
    this.#options = options;
  }

  /**
   * Throws AppError for an answer that is not read, else the error of the connection: see
   * classifyFailure.
   */
  async send(
    url: string,
    kind: ConnectionKind,
    sending: Sending,
  ): Promise<{ status: number; headers: Record<string, string>; bytes: Uint8Array }> {
    const { method, headers, body, silenceMs, clock, maxBytes, signal, into } = sending;
    signal.throwIfAborted();
    const { request: open } = url.startsWith('https:') ? https : http;
    const isStream = typeof body === 'object' && body !== null && !(body instanceof Uint8Array);
    // Node gives a DELETE with a body no length by itself.
    const length =
      body === null || isStream ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const agent = this.#agent(url, kind);
    const request = open(url, {
      method,
      headers: { ...headers, ...length },
      agent,
      timeout: silenceMs,
    });
    this.#limitConnecting(request);
    // The time that the source of the body or the receiver of the answer needs is not that of the
    // server.
    const limit = new AnswerLimit(silenceMs, clock);
    const upload = async function* (parts: AsyncIterable<Uint8Array>) {
      limit.isHeld = true;
      for await (const part of parts) {
        limit.isHeld = false;
        yield part;
        limit.bytes += part.length;
        limit.isHeld = true;
      }
      limit.isHeld = false;
    };
    request.on('timeout', () => {
      const { socket } = request;
      if (socket === null || !this.#connected.has(socket)) request.destroy(notConnected());
      else if (limit.isHeld) socket.setTimeout(silenceMs);
      else request.destroy(failure('ACS_SILENCE'));
    });
    let failed: Error | null = null;
    const ended = new AbortController();
    try {
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        const abort = (): void => {
          // While its connection is being made, a request does not report that it was destroyed.
          reject(signal.reason as Error);
          request.destroy();
        };
        // In place of the option `signal`, for which Node adds another listener.
        signal.addEventListener('abort', abort, { signal: ended.signal });
        const exceed = (ms: number): void => {
          reject(
            (failed = failure('ACS_TOTAL', `did not complete its answer within ${ms / 1000} s`)),
          );
          request.destroy(failed);
        };
        limit.reached(ended.signal).then(exceed, () => undefined);
        request.on('error', (error) => reject((failed ??= error)));
        request.on('response', resolve);
        // Without an answer and an error: the server switched protocols without a request to
        // upgrade.
        request.on('close', () => reject(failure('ECONNRESET')));
        if (isStream)
          pipeline(Readable.from(upload(body)), request, (error) => {
            if (isAppError(error)) failed = error;
            if (error) reject(error);
          });
        else request.end(body ?? undefined);
      });
      const status = response.statusCode ?? 0;
      // Agent servers close the connection after a 500 without announcing it (interface 12): it is
      // not used again.
      if (status === 500) request.shouldKeepAlive = false;
      const receive = status >= 200 && status < 300 ? into : undefined;
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of decoded(response, method)) {
        limit.bytes += chunk.length;
        if (receive === undefined) {
          size += chunk.length;
          if (size > maxBytes) {
            const most =
              maxBytes < 1024 * 1024
                ? `${maxBytes} bytes`
                : `${Math.floor(maxBytes / 1024 / 1024)} MiB`;
            const message =
              `the answer is larger than the ${most} that acs reads of ` + `such an answer`;
            const hint = 'is this the right server? where it is a list, ask for less of it';
            throw new AppError('server', message, { hint });
          }
          chunks.push(chunk);
        } else {
          limit.isHeld = true;
          await receive(chunk);
          limit.isHeld = false;
        }
      }
      const texts = Object.entries(response.headers).map(
        ([name, value]) => [name, String(value)] as const,
      );
      return { status, headers: Object.fromEntries(texts), bytes: Buffer.concat(chunks) };
    } catch (error) {
      throw isAppError(error) ? error : (failed ?? error);
    } finally {
      ended.abort();
    }
  }

  async openSocket(url: string, headers: Record<string, string>): Promise<WebSocket> {
    const { WebSocket } = await import('ws');
    const agent = this.#agent(url.replace(/^ws/, 'http'), 'fresh');
    const socket = new WebSocket(url, { headers, agent, maxPayload: MOST_FRAME_BYTES });
    this.#webSockets.add(socket);
    socket.once('close', () => this.#webSockets.delete(socket));
    // Without a listener the error would end the process; a reader of the socket adds its own.
    socket.on('error', () => undefined);
    return socket;
  }

  close(): void {
    this.#closing.abort();
    for (const agent of this.#agents.values()) agent.destroy();
    // A web socket waits for a peer that may never answer its close.
    for (const socket of this.#webSockets) socket.terminate();
  }

  #agent(url: string, kind: ConnectionKind): http.Agent {
    if (this.#closing.signal.aborted) throw new Error('the connections of this run are closed');
    // An address needs no resolver, and loading it is 1 % of a short command.
    if (isIP(new URL(url).hostname) === 0) {
      // A server on localhost often listens on IPv4 only; the resolver's own order would try ::1
      // first.
      setDefaultResultOrder('ipv4first');
      setDefaultAutoSelectFamilyAttemptTimeout(LIMITS_MS.address);
    }
    const { env, connectTimeoutMs, idleMs = LIMITS_MS.idleConnection } = this.#options;
    const proxy = proxyFor(url, env);
    const isSecure = url.startsWith('https:');
    const name = `${kind} ${isSecure} ${proxy}`;
    let agent = this.#agents.get(name);
    if (agent === undefined) {
      const { Agent } = isSecure ? https : http;
      agent = new Agent(
        kind === 'kept' ? { keepAlive: true, maxSockets: 16, timeout: idleMs } : {},
      );
      if (proxy !== null)
        tunnelThrough(agent, proxy, isSecure, {
          timeoutMs: connectTimeoutMs,
          signal: this.#closing.signal,
        });
      this.#agents.set(name, agent);
    }
    return agent;
  }

  /** For TLS the limit includes the handshake. */
  #limitConnecting(request: http.ClientRequest): void {
    request.on('socket', (socket) => {
      if (this.#connected.has(socket)) return;
      const isSecure = 'encrypted' in socket;
      const timer = setTimeout(
        () => request.destroy(notConnected()),
        this.#options.connectTimeoutMs,
      );
      const connect = (): void => {
        this.#connected.add(socket);
        clearTimeout(timer);
      };
      if (!isSecure && !socket.connecting) return connect(); // a tunnel of a proxy
      socket.once(isSecure ? 'secureConnect' : 'connect', connect);
      socket.once('close', () => clearTimeout(timer));
    });
  }
}

async function* decoded(
  response: http.IncomingMessage,
  method: string,
): AsyncGenerator<Uint8Array, void, void> {
  const { statusCode = 0, headers } = response;
  const names = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '' && word !== 'identity');
  const isEmpty =
    method === 'HEAD' || [204, 304].includes(statusCode) || headers['content-length'] === '0';
  if (names.length === 0 || isEmpty) {
    yield* response as AsyncIterable<Uint8Array>;
    return;
  }
  let body: Readable = response;
  for (const name of names.reverse()) {
    if (!['gzip', 'x-gzip', 'br'].includes(name))
      throw new AppError(
        'server',
        `the answer is encoded as ${cut(name, 40)}, which acs does not read`,
        {
          hint: `a proxy on the way may encode it; acs accepts ${ACCEPTED_ENCODINGS} or none`,
        },
      );
    const decoder = name === 'br' ? zlib.createBrotliDecompress() : zlib.createGunzip();
    body = pipeline(body, decoder, () => undefined);
  }
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (response.errored !== null) throw error;
    const message = `the answer is damaged: its ${names.join(', ')} encoding cannot be decoded`;
    throw new AppError('server', message, { cause: error });
  }
}

/** Errors as Node throws them: see classifyFailure. */
function failure(code: string, message = code): Error & { code: string } {
  return Object.assign(new Error(message), { code });
}

function notConnected(): Error {
  return Object.assign(failure('ETIMEDOUT'), { syscall: 'connect' });
}

/** Null for none. Requests that stay on the machine never use a proxy. */
export function proxyFor(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const of = (name: string): string => env[name] || env[name.toUpperCase()] || '';
  const proxy = (url.startsWith('https:') && of('https_proxy')) || of('http_proxy');
  return proxy === '' || isLoopback(url) || isExcluded(url, of('no_proxy')) ? null : proxy;
}

/** @param noProxy `*`, or hosts with their subdomains, each with an optional port */
function isExcluded(url: string, noProxy: string): boolean {
  const target = endpointOf(url);
  return noProxy.split(/[,\s]+/).some((entry) => {
    if (entry === '' || entry === '*') return entry === '*';
    const [, name = entry, port] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const host = name.replace(/^\*?\./, '').toLowerCase();
    const isHost = target.host === host.replace(/^\[|\]$/g, '') || target.host.endsWith(`.${host}`);
    return isHost && (port === undefined || Number(port) === target.port);
  });
}

/**
 * Errors have `proxy`, its host, where it failed itself, and `status`, where it refused to connect.
 */
function tunnelThrough(
  agent: http.Agent,
  proxy: string,
  isSecure: boolean,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): void {
  type Made = (error: Error | null, socket?: Socket) => void;
  const createConnection = (target: ConnectionOptions, done: Made): void => {
    const way = URL.canParse(proxy) ? new URL(proxy) : null;
    if (way === null || !/^https?:$/.test(way.protocol)) return done(failure('ACS_PROXY_URL'));
    const authority = `${target.host?.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
    const user = `${decodeURIComponent(way.username)}:${decodeURIComponent(way.password)}`;
    const headers = {
      host: authority,
      ...(user === ':'
        ? {}
        : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }),
    };
    const { request } = way.protocol === 'https:' ? https : http;
    const connecting = request({
      ...endpointOf(way),
      method: 'CONNECT',
      path: authority,
      headers,
      signal,
      agent: false,
    });
    // Not the time of a silence: the proxy may send its answer byte by byte.
    const timer = setTimeout(() => connecting.destroy(notConnected()), timeoutMs);
    connecting
      .once('connect', ({ statusCode: status }, socket) => {
        if (status === 200)
          return done(null, isSecure ? connectTls({ ...target, socket }) : socket);
        socket.destroy();
        done(Object.assign(failure('ACS_PROXY'), { status }));
      })
      .once('error', (error) => done(Object.assign(error, { proxy: way.host })))
      .once('close', () => clearTimeout(timer))
      .end();
  };
  Object.assign(agent, { createConnection });
}
