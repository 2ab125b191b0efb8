/**
 * The servers of tests, on loopback: one whose answers a test scripts and that records its requests,
 * one of raw bytes, a proxy, and a host of git repositories.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { pipeline, type Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';

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
  /** The connection. */
  socket: net.Socket;
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
 * after that server has answered the request. `raw` is sent as it is, and ends the connection. `by`
 * writes the answer. `pass`: the answer of another server, whose headers `change` returns.
 */
export type Reply =
  | (Head & { json: unknown })
  | (Head & { text: string | Buffer; type: string })
  | (Head & { none: true })
  | (Head & { starts: string })
  | { cut: true; delivered?: string }
  | { silence: true }
  | { raw: string }
  | { by: (response: http.ServerResponse, request: http.IncomingMessage) => unknown }
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

/** Starts a server that is closed when the test has ended. */
export async function untilTestEnds<T extends { close(): unknown }>(
  starting: Promise<T>,
): Promise<T> {
  const started = await starting;
  onTestFinished(async () => void (await started.close()));
  return started;
}

interface FakeOptions {
  /** With a certificate it speaks TLS. */
  key?: Buffer;
  cert?: Buffer;
  /** It listens on the first of them that is free; on any port without them. */
  ports?: readonly number[];
}

export async function startFake(
  handler: Handler,
  { ports, ...tls }: FakeOptions = {},
): Promise<FakeServer> {
  const listener: http.RequestListener = (request, response) =>
    void answer(fake, request, response);
  const server =
    tls.key === undefined ? http.createServer(listener) : https.createServer(tls, listener);
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
  const port = await listen(server, ports);
  fake.url = `${tls.key === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return fake;
}

/** The first of the ports that is free, where the server listens then. */
async function listen(server: net.Server, ports: readonly number[] = [0]): Promise<number> {
  for (const port of ports) {
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (isFree) return (server.address() as AddressInfo).port;
  }
  throw new Error(`none of the ports ${ports.join(', ')} is free`);
}

async function answer(
  fake: FakeServer,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const bytes = await buffer(request).catch(() => null);
  // The client has cut its request.
  if (bytes === null) return;
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
    socket: request.socket,
    isAborted: false,
  };
  response.on('close', () => (asked.isAborted = !response.writableFinished));
  fake.asked.push(asked);
  const reply = await fake.handler(asked);
  if ('silence' in reply) return;
  if ('by' in reply) await reply.by(response, request);
  else if ('raw' in reply) request.socket.end(reply.raw);
  else if ('cut' in reply) {
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

export interface RawServer {
  url: string;
  sockets: net.Socket[];
  /** Takes no more connections. */
  stop(): void;
  close(): void;
}

/**
 * A server of bytes: its answer to the first bytes of a client, after which the connection ends;
 * without one it is silent. Or what it does with a connection.
 */
export async function startRaw(
  answer: string | ((socket: net.Socket) => unknown) | null,
  port?: number,
): Promise<RawServer> {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    if (typeof answer === 'function') answer(socket);
    else socket.once('data', () => void (answer === null || socket.end(answer)));
  });
  return {
    url: `http://127.0.0.1:${await listen(server, port === undefined ? undefined : [port])}`,
    sockets,
    stop: () => void server.close(),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export interface ProxyServer {
  url: string;
  /** The targets of CONNECT, with the credentials of the client. */
  asked: { url: string | undefined; key: string | undefined }[];
  close(): void;
}

/**
 * An HTTP proxy that leads every host to this machine: to the port of the request, or to that of
 * `to`. Or it answers CONNECT with a status.
 */
export async function startProxy({
  to,
  status,
}: { to?: () => string; status?: number } = {}): Promise<ProxyServer> {
  const asked: ProxyServer['asked'] = [];
  const open = new Set<Duplex>();
  const server = http.createServer((_, response) => response.writeHead(400).end());
  server.on('connect', ({ url, headers }, client: Duplex) => {
    asked.push({ url, key: headers['proxy-authorization'] });
    if (status !== undefined)
      return client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const port = new URL(to?.() ?? `http://${url}`).port;
    const upstream = net.connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const end of [client, upstream])
      open.add(end.on('error', () => [client, upstream].map((each) => each.destroy())));
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    asked,
    close() {
      for (const end of open) end.destroy();
      server.close();
    },
  };
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

async function listening(port: number): Promise<net.Server | null> {
  const server = net.createServer();
  return await listen(server, [port]).then(
    () => server,
    () => null,
  );
}

/**
 * Serves the bare repositories below a folder as plain files, which git clones after `git
 * update-server-info`. With `refuses`, a request with these credentials gets 401.
 */
export function startGitHost(
  folder: string,
  refuses: (credentials: string | undefined) => boolean = () => false,
): Promise<FakeServer> {
  return startFake(({ path: name, headers }) => {
    const file = path.join(folder, name);
    if (refuses(headers.authorization))
      return { status: 401, none: true, headers: { 'www-authenticate': 'Basic realm="x"' } };
    if (!existsSync(file) || !statSync(file).isFile()) return NOT_FOUND;
    return { text: readFileSync(file), type: 'application/octet-stream' };
  });
}
