/** Stands between acs and a service and keeps what went over the wire. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RecordedRequest {
  method: string;
  /** Path with query, as it was sent. */
  path: string;
  headers: IncomingMessage['headers'];
  /** Parsed when it is JSON, null when there is none. */
  body: unknown;
}

export type ProxyAnswer = { status: number; body?: unknown } | 'cut';

export interface RecordingProxy {
  url: string;
  requests: RecordedRequest[];
  /** Requests that change something, in order. */
  writes(): RecordedRequest[];
  /** Answers a request in place of the service, or cuts its connection; null: the service answers. */
  answer: (request: RecordedRequest) => ProxyAnswer | null;
  close(): Promise<void>;
}

export async function recordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const server = createServer((incoming, outgoing) => void pass(target, proxy, incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: RecordingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    writes: () => requests.filter(({ method }) => isWrite(method)),
    answer: () => null,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

async function pass(
  target: string,
  { requests, answer: answerOf }: RecordingProxy,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { method = 'GET', url = '/', headers } = incoming;
  const recorded = { method, path: url, headers, body: parsed(body) };
  requests.push(recorded);
  const own = answerOf(recorded);
  if (own === 'cut') return void outgoing.destroy();
  if (own !== null) {
    return void outgoing.writeHead(own.status, { 'content-type': 'application/json' }).end(JSON.stringify(own.body));
  }
  const place = new URL(url, target);
  const onward = forward(place, { method, headers: { ...headers, host: place.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  onward.end(body);
}

function parsed(body: Buffer): unknown {
  if (body.length === 0) return null;
  const text = body.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
