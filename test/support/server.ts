/** Servers on loopback: one whose answers a test scripts and that records its requests, and a host of git repositories. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';

// A loopback server whose answers a test scripts, and that records its requests.

export interface Asked {
  method: string;
  path: string;
  /** Path with query, as it was sent. */
  url: string;
  query: URLSearchParams;
  headers: http.IncomingHttpHeaders;
  /** Parsed where it is JSON, else a text; undefined without one. */
  body: unknown;
  text: string;
  /** True once the client has closed the connection before the answer was complete. */
  isAborted: boolean;
}

interface Head {
  status?: number;
  headers?: Record<string, string>;
}

/**
 * `json` is sent as JSON, `text` with its `type`, `none` has no body; `starts` is the beginning of
 * a body that does not end. `cut`: the connection is closed without an answer, with `delivered`
 * after that server has answered the request. `pass`: the answer of another server, whose headers
 * `change` returns.
 */
export type Reply =
  | (Head & { json: unknown })
  | (Head & { text: string | Buffer; type: string })
  | (Head & { none: true })
  | (Head & { starts: string })
  | { cut: true; delivered?: string }
  | { silence: true }
  | { pass: string; change?: (headers: http.IncomingHttpHeaders) => http.IncomingHttpHeaders };

export type Handler = (asked: Asked) => Reply | Promise<Reply>;

/** Replies by `METHOD /path`; null leaves the request to the handler behind the routes. */
export type Routes = Record<string, Reply | ((asked: Asked) => Reply | Promise<Reply> | null)>;

export interface FakeServer {
  url: string;
  asked: Asked[];
  /** `METHOD /path` of each request, in order. */
  lines(): string[];
  /** The requests that are no reads. */
  writes(): Asked[];
  handler: Handler;
  sockets: WebSocket[];
  /** Called for each web socket; false refuses it with 403. */
  acceptSocket: (path: string, headers: http.IncomingHttpHeaders) => boolean;
  onSocket: (socket: WebSocket, path: string) => void;
  close(): Promise<void>;
}

export const NOT_FOUND: Reply = { status: 404, json: { detail: 'Not Found' } };

/** The routes, and what answers the requests that none of them takes. */
export function routed(routes: Routes, otherwise: Handler = () => NOT_FOUND): Handler {
  return (asked) => {
    const route = routes[`${asked.method} ${asked.path}`] ?? routes[asked.path];
    return (typeof route === 'function' ? route(asked) : route) ?? otherwise(asked);
  };
}

export async function startFake(
  handler: Handler,
  tls?: { key: Buffer; cert: Buffer },
): Promise<FakeServer> {
  const listener: http.RequestListener = (request, response) =>
    void answer(fake, request, response);
  const server =
    tls === undefined ? http.createServer(listener) : https.createServer(tls, listener);
  const sockets = new WebSocketServer({ noServer: true });
  const fake: FakeServer = {
    url: '',
    asked: [],
    lines: () => fake.asked.map(({ method, path }) => `${method} ${path}`),
    writes: () => fake.asked.filter(({ method }) => method !== 'GET' && method !== 'HEAD'),
    handler,
    sockets: [],
    acceptSocket: () => true,
    onSocket: () => undefined,
    async close() {
      for (const socket of fake.sockets) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('upgrade', (request, stream, head) => {
    const path = request.url ?? '';
    // A client that is gone meanwhile is no failure of a test.
    stream.on('error', () => undefined);
    if (!fake.acceptSocket(path, request.headers)) {
      stream.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      fake.sockets.push(socket);
      fake.onSocket(socket, path);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  fake.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}

async function answer(
  fake: FakeServer,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const url = new URL(request.url ?? '/', 'http://fake');
  const text = bytes.toString();
  const asked: Asked = {
    method: request.method ?? '',
    path: url.pathname,
    url: request.url ?? '/',
    query: url.searchParams,
    headers: request.headers,
    body: text === '' ? undefined : parse(text),
    text,
    isAborted: false,
  };
  response.on('close', () => (asked.isAborted = !response.writableFinished));
  fake.asked.push(asked);
  const reply = await fake.handler(asked);
  if ('silence' in reply) return;
  if ('cut' in reply) {
    if (reply.delivered !== undefined)
      await forward(reply.delivered, asked, bytes).catch(() => undefined);
    request.socket.destroy();
  } else if ('pass' in reply) {
    const passed = await forward(reply.pass, asked, bytes).catch(() => null);
    if (passed === null) return void request.socket.destroy();
    response.writeHead(passed.statusCode ?? 502, reply.change?.(passed.headers) ?? passed.headers);
    // A cut of that connection is passed on too.
    pipeline(passed, response, () => undefined);
  } else if ('starts' in reply) {
    response.writeHead(reply.status ?? 200, {
      'content-type': 'application/json',
      ...reply.headers,
    });
    response.write(reply.starts);
  } else if ('none' in reply) {
    response.writeHead(reply.status ?? 200, reply.headers).end();
  } else {
    const [type, body] =
      'json' in reply ? ['application/json', JSON.stringify(reply.json)] : [reply.type, reply.text];
    response.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers }).end(body);
  }
}

function forward(
  target: string,
  { method, url, headers }: Asked,
  body: Buffer,
): Promise<http.IncomingMessage> {
  const to = new URL(url, target);
  return new Promise((resolve, reject) => {
    http
      .request(to, { method, headers: { ...headers, host: to.host } }, resolve)
      .on('error', reject)
      .end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Ports that a server keeps while it is ended and started again.

const FIRST_PORT = 12_000;
const BLOCKS = 190;

/**
 * The first of a hundred ports for a server and its sandboxes. Below those that systems hand out: a
 * sandbox takes its port seconds after it was found free, and until then any connection might get
 * it. The last of them is held as long as this process lives, so that another run gets other ones
 * meanwhile.
 */
export async function freeBlock(): Promise<number> {
  for (let block = process.pid; block < process.pid + BLOCKS; block++) {
    const port = FIRST_PORT + (block % BLOCKS) * 100;
    const held = await listening(port + 99);
    if (held === null) continue;
    const first = await listening(port);
    if (first !== null) {
      await new Promise((resolve) => first.close(resolve));
      held.unref();
      return port;
    }
    held.close();
  }
  throw new Error('there is no free port for a server');
}

function listening(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

export interface GitHost {
  /** Without a slash at the end. */
  url: string;
  close(): Promise<void>;
}

/**
 * Serves the bare repositories below a folder as plain files, which git clones after `git
 * update-server-info`.
 */
export async function startGitHost(folder: string): Promise<GitHost> {
  const host = http.createServer((request, response) => {
    const file = path.join(folder, new URL(request.url ?? '/', 'http://host').pathname);
    if (existsSync(file) && statSync(file).isFile()) createReadStream(file).pipe(response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
    close: async () => {
      host.closeAllConnections();
      await new Promise((resolve) => host.close(resolve));
    },
  };
}
