/** A loopback server whose answers a test sets, and that records its requests. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: http.IncomingHttpHeaders;
  body: unknown;
  /** True once the client has closed the connection before the answer was complete. */
  isAborted: boolean;
}

/** `cut`: the connection is closed without an answer. `json` is sent as JSON; `text` with its `type`. */
export type Reply =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { status?: number; text: string; type: string; headers?: Record<string, string> }
  | { status: number; headers: Record<string, string>; none: true }
  | { cut: true }
  | { silence: true };

export type Handler = (asked: Asked) => Reply | Promise<Reply>;

export interface FakeServer {
  url: string;
  asked: Asked[];
  /** `METHOD /path` of each request, in order. */
  lines(): string[];
  handler: Handler;
  sockets: WebSocket[];
  /** Called for each web socket; false refuses it with 403. */
  acceptSocket: (path: string, headers: http.IncomingHttpHeaders) => boolean;
  onSocket: (socket: WebSocket, path: string) => void;
  close(): Promise<void>;
}

export const NOT_FOUND: Reply = { status: 404, json: { detail: 'Not Found' } };

export async function startFake(handler: Handler): Promise<FakeServer> {
  const server = http.createServer((request, response) => void answer(fake, request, response));
  const sockets = new WebSocketServer({ noServer: true });
  const fake: FakeServer = {
    url: '',
    asked: [],
    lines: () => fake.asked.map(({ method, path }) => `${method} ${path}`),
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
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}

async function answer(fake: FakeServer, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const url = new URL(request.url ?? '/', 'http://fake');
  const asked: Asked = {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body: text === '' ? undefined : parse(text),
    isAborted: false,
  };
  response.on('close', () => (asked.isAborted = !response.writableFinished));
  fake.asked.push(asked);
  const reply = await fake.handler(asked);
  if ('silence' in reply) return;
  if ('cut' in reply) {
    request.socket.destroy();
    return;
  }
  if ('none' in reply) {
    response.writeHead(reply.status, reply.headers).end();
    return;
  }
  const [type, body] = 'json' in reply ? ['application/json', JSON.stringify(reply.json)] : [reply.type, reply.text];
  response.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers }).end(body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
