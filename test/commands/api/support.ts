/** `acs api` against servers that answer as a test decides, and against the local service. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Handler = (request: Seen, response: ServerResponse) => void;

export const KEY = 'key-of-the-user-0123456789';

export interface ApiWorld {
  readonly world: World;
  /** A server that answers the probe as V1, and everything below /test with the handler. */
  serve(handler: Handler): Promise<{ url: string; seen: Seen[] }>;
  /** A server for one test. @returns its URL */
  listen(answer: RequestListener): Promise<string>;
  /** Runs `acs api` at a server, with the key of the user. */
  at(url: string, ...args: string[]): Promise<Ended>;
}

/** For the enclosing file. */
export function useApiWorld(): ApiWorld {
  let world: World;
  const servers: Server[] = [];
  beforeAll(async () => {
    world = await createWorld();
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });
  afterAll(() => world.close());

  const listen = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  return {
    get world() {
      return world;
    },
    listen,
    async serve(handler) {
      const seen: Seen[] = [];
      const url = await listen((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const { method = '', url = '', headers } = request;
          const one = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
          const isProbe = !url.startsWith('/test');
          if (!isProbe) seen.push(one);
          if (!isProbe) return handler(one, response);
          sendJson(response, 200, url.startsWith('/openapi') ? { paths: {} } : { items: [], next_page_id: null });
        });
      });
      return { url, seen };
    },
    at: (url, ...args) =>
      world.invoke({ args: ['--base-url', url, 'api', ...args], env: { ACS_BASE_URL: undefined, ACS_API_KEY: KEY } }),
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
