import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';

export function createHttpServer(
  fetch: (request: Request) => Response | Promise<Response>,
): Server {
  // The adapter's own clean-up closes a connection after 0.5 s that the answer kept.
  const options = { fetch, overrideGlobalObjects: false, autoCleanupIncoming: false };
  const server = createAdaptorServer(options) as Server;
  // Longer than a client pauses: it must not send a request on a connection that is closing.
  server.keepAliveTimeout = 30_000;
  // An upload through a slow pipe takes longer than any bound.
  server.requestTimeout = 0;
  server.prependListener('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    outgoing.once('finish', () => {
      // The next request on the connection follows the rest of the body.
      if (incoming.readableEnded || incoming.destroyed) return;
      incoming.removeAllListeners('data');
      incoming.resume();
    });
  });
  return server;
}

/** For each server: the one at ::1. */
const twins = new WeakMap<Server, NetServer>();

/** Also at ::1: `localhost` may be either, and another program there would get keys of clients. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  await bind(server, host, port);
  if (host !== '127.0.0.1' && host !== '0.0.0.0') return;
  const twin = createServer({ noDelay: true }, (socket) => server.emit('connection', socket));
  try {
    await bind(twin, '::1', portOf(server));
    twins.set(server, twin);
  } catch (error) {
    if (['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return;
    await dropServer(server);
    throw error;
  }
}

function bind(server: NetServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Listens on the preferred port (0: any), or on any free one when that port is not available. */
export async function listenPreferring(
  server: Server,
  host: string,
  preferred: number,
): Promise<void> {
  await listen(server, host, preferred).catch(() => listen(server, host, 0));
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Settles when no connection is left. */
async function stopListening(server: Server): Promise<void> {
  const both = [server, twins.get(server)].filter((each) => each !== undefined);
  await Promise.all(both.map((each) => new Promise((resolve) => each.close(resolve))));
}

export async function dropServer(server: Server): Promise<void> {
  const closed = stopListening(server);
  server.closeAllConnections();
  await closed;
}

/** Accepts no more requests, calls `end`, and ends the requests that are still open. */
export async function closeServer(server: Server, end: () => Promise<void>): Promise<void> {
  const closed = stopListening(server);
  server.closeIdleConnections();
  await end();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, 2_000);
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
}
