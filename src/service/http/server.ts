/** The HTTP server under the app server and under each agent server. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';

/** Longer than a client pauses between two requests, so that it does not send one on a connection that is closing. */
const KEEP_ALIVE_MS = 30_000;

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

/**
 * Reads what is left of the body of an answered request, so that the next request on the connection is read. A route
 * that refused may have begun to read it: then a stream holds it, paused, and is taken off.
 */
function discardBody(incoming: IncomingMessage): void {
  if (incoming.readableEnded || incoming.destroyed) return;
  incoming.removeAllListeners('data');
  incoming.resume();
}
