import type { Server } from 'node:http';
import { createHttpServer } from '../http/server.ts';
import { ServiceError } from './failure.ts';

/**
 * Listens with a function from Request to Response.
 * @throws ServiceError `listen`
 */
export function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  host: string,
  port: number,
): Promise<Server> {
  const server = createHttpServer(fetch);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
      reject(new ServiceError('listen', `cannot listen on ${host} port ${port}: ${why}`, { cause: error }));
    });
    server.listen(port, host, () => {
      resolve(server);
    });
  });
}

/** Listens on any free port, on `preferred` where that is free. */
export async function listenSomewhere(
  fetch: (request: Request) => Response | Promise<Response>,
  host: string,
  preferred: number,
): Promise<Server> {
  if (preferred !== 0) {
    const server = await listen(fetch, host, preferred).catch(() => null);
    if (server !== null) return server;
  }
  return listen(fetch, host, 0);
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const DRAIN_MS = 2_000;

/** Takes no more requests, ends what they work with, and then the requests that are still open. */
export async function closeServer(server: Server, end: () => Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  server.closeIdleConnections();
  await end();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, DRAIN_MS);
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
}
