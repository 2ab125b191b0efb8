/** The HTTP server under the app server and under each agent server: created, listening, closed. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';

/** Longer than a client pauses between two requests, so that it does not send one on a connection that is closing. */
const KEEP_ALIVE_MS = 30_000;

/** How long open requests may take after `closeServer` has ended what they work with. */
const DRAIN_MS = 2_000;

/** Makes a server, not listening yet, that answers with a function from Request to Response. */
export function createHttpServer(fetch: (request: Request) => Response | Promise<Response>): Server {
  // The adapter's own clean-up waits 0.5 s for the rest of a body and then closes a connection that the answer kept.
  const options = { fetch, overrideGlobalObjects: false, autoCleanupIncoming: false };
  const server = createAdaptorServer(options) as Server;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // An upload through a slow pipe takes longer than any bound.
  server.requestTimeout = 0;
  server.prependListener('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    outgoing.once('finish', () => {
      discardBody(incoming);
    });
  });
  return server;
}

/** Rejects with the error of the system; the server may then listen on another port. */
export function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Listens on the preferred port (0: any), or on any free one when that port is not available. */
export async function listenPreferring(server: Server, host: string, preferred: number): Promise<void> {
  try {
    await listen(server, host, preferred);
  } catch (error) {
    if (preferred === 0) throw error;
    await listen(server, host, 0);
  }
}

/** The port of a server that listens. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Takes no more connections and drops the open ones. */
export async function dropServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** Takes no more requests, ends what they work with, and then the requests that are still open. */
export async function closeServer(server: Server, end: () => Promise<void>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await end();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, DRAIN_MS);
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
}

/**
 * Reads what is left of the body of an answered request, so that the next request on the connection is read. A route
 * that refused may have begun to read it: then a stream holds it, paused, and is taken off.
 */
function discardBody(incoming: IncomingMessage): void {
  if (incoming.readableEnded || incoming.destroyed) return;
  incoming.removeAllListeners('data');
  incoming.resume();
}
