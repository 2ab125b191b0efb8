/**
 * Requests without a proxy, by Node's own client: the parser of undici is WebAssembly that each process
 * compiles again, which took a third of the time of a short command. Requests through a proxy, and web sockets, use
 * undici.
 */
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { tooLarge } from './body.ts';

export interface Sending {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  /** How long the server may send nothing, before its answer and within it. */
  silenceMs: number;
  /** The most that is read of the body. */
  maxBytes: number;
  signal: AbortSignal;
}

/** A complete answer as it was received. */
export interface Received {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  bytes: Uint8Array;
}

export interface StraightOptions {
  connectTimeoutMs: number;
  /** A connection that is unused for this long may be closed by the server. */
  idleMs: number;
}

/**
 * `fresh` opens a connection of its own: for a request that must not be sent on a connection that the server has just
 * closed.
 */
export type ConnectionKind = 'kept' | 'fresh';

export interface Straight {
  send(url: string, kind: ConnectionKind, sending: Sending): Promise<Received>;
  close(): void;
}

export function createStraight(options: StraightOptions): Straight {
  const kept = { keepAlive: true, maxSockets: 16, timeout: options.idleMs };
  const connected = new WeakSet<Socket>();
  const agents = new Map<string, http.Agent>();
  const agentFor = (isSecure: boolean, kind: ConnectionKind): http.Agent => {
    const name = `${isSecure} ${kind}`;
    const { Agent } = isSecure ? https : http;
    const agent = agents.get(name) ?? new Agent(kind === 'kept' ? kept : {});
    agents.set(name, agent);
    return agent;
  };
  return {
    send(url, kind, sending) {
      const isSecure = url.startsWith('https:');
      const open = isSecure ? https.request : http.request;
      return exchange(open, url, agentFor(isSecure, kind), sending, { ...options, connected });
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function exchange(
  open: typeof http.request,
  url: string,
  agent: http.Agent,
  { method, headers, body, silenceMs, maxBytes, signal }: Sending,
  { connectTimeoutMs, connected }: StraightOptions & { connected: WeakSet<Socket> },
): Promise<Received> {
  return new Promise((resolve, reject) => {
    // Node gives a DELETE with a body no length by itself.
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = open(url, { method, headers: { ...headers, ...length }, agent, timeout: silenceMs, signal });
    request.on('error', reject);
    limitConnecting(request, connected, connectTimeoutMs);
    // The time-out for data runs while it connects, too; nothing was sent then.
    request.on('timeout', () => {
      const isConnected = request.socket !== null && connected.has(request.socket);
      request.destroy(
        isConnected ? failure('ACS_SILENCE', `nothing came for ${silenceMs} ms`) : notConnected(silenceMs),
      );
    });
    // Otherwise the request would end without an error.
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(failure('ECONNRESET', 'the server switched protocols without a request to upgrade'));
    });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxBytes) request.destroy(tooLarge(maxBytes));
      });
      response.on('error', reject);
      // Agent servers close the connection after a 500 without announcing it (interface 12): it is not used again.
      if (response.statusCode === 500) request.shouldKeepAlive = false;
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    request.end(body ?? undefined);
  });
}

/**
 * Fails a connection that is not established in time; for TLS that includes the handshake.
 * @param connected those that have: the agent may hand one on without saying that it was used before
 */
function limitConnecting(request: http.ClientRequest, connected: WeakSet<Socket>, timeoutMs: number): void {
  request.on('socket', (socket) => {
    if (connected.has(socket)) return;
    const timer = setTimeout(() => request.destroy(notConnected(timeoutMs)), timeoutMs);
    const stop = (): void => clearTimeout(timer);
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
      connected.add(socket);
      stop();
    });
    socket.once('close', stop);
  });
}

function notConnected(timeoutMs: number): Error {
  return Object.assign(failure('ETIMEDOUT', `no connection within ${timeoutMs} ms`), { syscall: 'connect' });
}

function failure(code: string, message: string): Error & { code: string } {
  return Object.assign(new Error(message), { code });
}
