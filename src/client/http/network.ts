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
  idleMs?: number;
}

/** `fresh`: for a request that must not be sent on a connection that the server has just closed. */
type ConnectionKind = 'kept' | 'fresh';

interface Received {
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array;
}

export interface Sending {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /** How long the server may send nothing, before its answer and within it. */
  silenceMs: number;
  clock: Clock;
  maxBytes: number;
  signal: AbortSignal;
  into?: ((part: Uint8Array) => Promise<void>) | undefined;
}

const MOST_FRAME_BYTES = 128 * 1024 * 1024;

export const ACCEPTED_ENCODINGS = 'gzip, br';

export class Network {
  readonly redaction: Redaction;
  readonly #options: NetworkOptions;
  readonly #agents = new Map<string, http.Agent>();
  readonly #webSockets = new Set<WebSocket>();
  readonly #connected = new WeakSet<Socket>();
  readonly #closing = new AbortController();

  constructor(options: NetworkOptions) {
    // Above ten listeners, one for each connection to a proxy, Node reports a leak on stderr.
    setMaxListeners(0, this.#closing.signal);
    this.redaction = options.redaction;
    this.#options = options;
  }

  async send(url: string, kind: ConnectionKind, sending: Sending): Promise<Received> {
    const { silenceMs, clock, signal } = sending;
    signal.throwIfAborted();
    const limit = new AnswerLimit(silenceMs, clock);
    const request = this.#connect(url, kind, sending, limit);
    const over = new AbortController();
    const end = (reason: unknown) => {
      over.abort(reason);
      request.destroy(reason as Error);
    };
    signal.addEventListener('abort', () => end(signal.reason), { signal: over.signal });
    limit.reached(over.signal).then(
      (ms) => end(failure('ACS_TOTAL', `did not complete its answer within ${ms / 1000} s`)),
      () => undefined,
    );
    try {
      const response = await upload(request, sending.body, limit, over);
      // Agent servers close the connection after a 500 without announcing it (interface 12).
      if (response.statusCode === 500) request.shouldKeepAlive = false;
      return await receive(response, sending, limit);
    } catch (error) {
      throw isAppError(error) || !over.signal.aborted ? error : over.signal.reason;
    } finally {
      over.abort();
    }
  }

  #connect(
    url: string,
    kind: ConnectionKind,
    { method, headers, body, silenceMs }: Sending,
    limit: AnswerLimit,
  ): http.ClientRequest {
    const isWhole = typeof body === 'string' || body instanceof Uint8Array;
    const request = (url.startsWith('https:') ? https : http).request(url, {
      method,
      headers: {
        ...headers,
        ...(isWhole && { 'content-length': String(Buffer.byteLength(body)) }),
      },
      agent: this.#agent(url, kind),
      timeout: silenceMs,
    });
    request.on('timeout', () => {
      const { socket } = request;
      if (socket === null || !this.#connected.has(socket)) request.destroy(notConnected());
      else if (limit.isHeld) socket.setTimeout(silenceMs);
      else request.destroy(failure('ACS_SILENCE'));
    });
    request.on('socket', (socket) => {
      if (this.#connected.has(socket)) return;
      const isSecure = 'encrypted' in socket;
      const timer = setTimeout(
        () => request.destroy(notConnected()),
        this.#options.connectTimeoutMs,
      );
      const connect = () => {
        this.#connected.add(socket);
        clearTimeout(timer);
      };
      if (!isSecure && !socket.connecting) return connect(); // a tunnel of a proxy
      socket.once(isSecure ? 'secureConnect' : 'connect', connect);
      socket.once('close', () => clearTimeout(timer));
    });
    return request;
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
      // A server on localhost often listens on IPv4 only; the resolver would try ::1 first.
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
}

async function upload(
  request: http.ClientRequest,
  body: Sending['body'],
  limit: AnswerLimit,
  over: AbortController,
): Promise<http.IncomingMessage> {
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve);
    // Without an answer and an error: the server switched protocols without a request to upgrade.
    request.on('close', () => reject(failure('ECONNRESET')));
    // While its connection is being made, a request does not report that it was destroyed.
    over.signal.addEventListener('abort', () => reject(over.signal.reason as Error));
  });
  const fail = (error?: Error | null) => void (error && over.abort(error));
  request.on('error', fail);
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    request.end(body ?? undefined);
  else {
    const parts = async function* () {
      limit.isHeld = true;
      for await (const part of body) {
        limit.isHeld = false;
        yield part;
        limit.bytes += part.length;
        limit.isHeld = true;
      }
      limit.isHeld = false;
    };
    pipeline(Readable.from(parts()), request, fail);
  }
  return await response;
}

async function receive(
  response: http.IncomingMessage,
  { method, maxBytes, into }: Sending,
  limit: AnswerLimit,
): Promise<Received> {
  const { statusCode: status = 0 } = response;
  const chunks: Uint8Array[] = [];
  let leftBytes = maxBytes;
  const collect = (chunk: Uint8Array) => {
    leftBytes -= chunk.length;
    return leftBytes < 0 ? Promise.reject(tooLarge(maxBytes)) : Promise.resolve(chunks.push(chunk));
  };
  const take = into !== undefined && status >= 200 && status < 300 ? into : collect;
  for await (const chunk of decoded(response, method)) {
    limit.bytes += chunk.length;
    limit.isHeld = true;
    await take(chunk);
    limit.isHeld = false;
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value);
  return { status, headers, bytes: Buffer.concat(chunks) };
}

function tooLarge(maxBytes: number): AppError {
  const mebibytes = Math.floor(maxBytes / 1024 / 1024);
  const most = mebibytes === 0 ? `${maxBytes} bytes` : `${mebibytes} MiB`;
  return new AppError('server', `the answer is larger than ${most}`, {
    hint: 'check the URL; if the answer is a list, request fewer items',
  });
}

async function* decoded(
  response: http.IncomingMessage,
  method: string,
): AsyncGenerator<Uint8Array, void, void> {
  const { statusCode = 0, headers } = response;
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity';
  const isEmpty =
    method === 'HEAD' || [204, 304].includes(statusCode) || headers['content-length'] === '0';
  if (encoding === 'identity' || isEmpty)
    return yield* response as AsyncIterable<Uint8Array, void, void>;
  const decoder = DECODERS.get(encoding)?.();
  if (decoder === undefined)
    throw new AppError(
      'server',
      `the answer is encoded as ${cut(encoding, 40)}, which acs does not read`,
      { hint: `a proxy on the way may encode it; acs accepts ${ACCEPTED_ENCODINGS} or none` },
    );
  try {
    yield* pipeline(response, decoder, () => undefined) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (response.errored !== null) throw error;
    const message = `the answer is damaged: its ${encoding} encoding cannot be decoded`;
    throw new AppError('server', message, { cause: error });
  }
}

const DECODERS: ReadonlyMap<string, () => NodeJS.ReadWriteStream> = new Map([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['br', () => zlib.createBrotliDecompress()],
]);

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
  const of = (name: string) => env[name] || env[name.toUpperCase()] || '';
  const proxy = (url.startsWith('https:') && of('https_proxy')) || of('http_proxy');
  return proxy === '' || isLoopback(url) || isExcluded(url, of('no_proxy')) ? null : proxy;
}

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

function tunnelThrough(
  agent: http.Agent,
  proxy: string,
  isSecure: boolean,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): void {
  type Made = (error: Error | null, socket?: Socket) => void;
  const createConnection = (target: ConnectionOptions, done: Made) => {
    const way = URL.canParse(proxy) ? new URL(proxy) : null;
    if (way === null || !/^https?:$/.test(way.protocol)) return done(failure('ACS_PROXY_URL'));
    const host = target.host?.includes(':') ? `[${target.host}]` : target.host;
    const authority = `${host}:${target.port}`;
    const user = `${decodeURIComponent(way.username)}:${decodeURIComponent(way.password)}`;
    const headers = {
      host: authority,
      ...(user !== ':' && {
        'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}`,
      }),
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
    const timer = setTimeout(() => connecting.destroy(notConnected()), timeoutMs);
    connecting
      .once('connect', ({ statusCode: status }, socket) => {
        if (status === 200)
          return done(null, isSecure ? connectTls({ ...target, socket }) : socket);
        socket.destroy();
        done(failure(status === 407 ? 'ACS_PROXY_LOGIN' : 'ACS_PROXY', String(status)));
      })
      .once('error', (error) => done(Object.assign(error, { proxy: way.host })))
      .once('close', () => clearTimeout(timer))
      .end();
  };
  Object.assign(agent, { createConnection });
}
