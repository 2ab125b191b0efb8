/**
 * Stands between acs and a server with its sandboxes, so that a case can count requests, slow them
 * down, and take sockets away as some proxies do. Addresses of sandboxes in answers become paths of
 * the relay.
 */
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { linkSockets, type Faults } from '../support/faulty-link.ts';

export interface Relay {
  url: string;
  /**
   * `GET /path` without the query, in the order they came; those to a sandbox begin with `/~port`.
   */
  readonly requests: string[];
  /** Sockets that were requested. */
  readonly sockets: string[];
  /** Those of them that the server refused. */
  readonly refusedSockets: string[];
  close(): Promise<void>;
}

export interface RelayOptions {
  sockets?: 'passed on' | 'refused';
  /**
   * An answer of the relay's own to a request; `cut` ends the connection in the middle of the
   * server's answer; null passes it on. `count`: how many came before.
   */
  answer?: (request: string, count: number) => OwnAnswer | 'cut' | null;
  /** What happens to the frames of sockets. */
  faults?: Faults;
}

export interface OwnAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Relays to the server at `upstream`, on loopback as everything is here. */
export async function startRelay(
  upstream: string,
  { sockets, answer, faults }: RelayOptions = {},
): Promise<Relay> {
  const appPort = new URL(upstream).port;
  const open = new Set<Duplex>();
  const relay = {
    requests: [] as string[],
    sockets: [] as string[],
    refusedSockets: [] as string[],
  };
  const server = createServer((request, response) => {
    const name = `${request.method} ${pathOf(request)}`;
    const answered = answer?.(name, relay.requests.length) ?? null;
    relay.requests.push(name);
    if (answered !== null && answered !== 'cut') return answerItself(response, answered);
    const finish = answered === 'cut' ? cutAnswer : endAnswer;
    passOn(request, response, placeOf(request, appPort), {
      finish,
      rewritten: (text) => rewrite(text, appPort, own()),
    });
  });
  const own = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    relay.sockets.push(pathOf(request));
    socket.on('error', () => {});
    if (sockets === 'refused')
      return socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
    const { port, path } = placeOf(request, appPort);
    if (faults !== undefined) {
      const target = { url: `ws://127.0.0.1:${port}${path}`, host: `127.0.0.1:${port}` };
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      return linkSockets(request, { socket, head }, target, faults);
    }
    const through = connect(Number(port), '127.0.0.1', () => {
      through.write(Buffer.concat([Buffer.from(upgradeHead(request, path, port)), head]));
      join(open, socket, through);
      through.once('data', (answer: Buffer) => {
        if (!answer.toString('latin1').startsWith('HTTP/1.1 101 '))
          relay.refusedSockets.push(pathOf(request));
      });
    });
    through.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: own(),
    ...relay,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const each of open) each.destroy();
      }),
  };
}

function answerItself(response: ServerResponse, { status, headers, body }: OwnAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function endAnswer(response: ServerResponse, body: Buffer): void {
  response.end(body);
}

function cutAnswer(response: ServerResponse, body: Buffer): void {
  response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy());
}

function pathOf({ url }: IncomingMessage): string {
  return (url ?? '/').split('?', 1)[0] ?? '/';
}

function placeOf({ url }: IncomingMessage, appPort: string): { port: string; path: string } {
  const [, port, path] = /^\/~(\d+)(.*)$/.exec(url ?? '/') ?? [];
  return port === undefined ? { port: appPort, path: url ?? '/' } : { port, path: path ?? '/' };
}

/** Every address on loopback that is not the app server's is that of a sandbox. */
function rewrite(text: string, appPort: string, own: string): string {
  return text.replace(/http:\/\/(?:localhost|127\.0\.0\.1):(\d+)/g, (_, port: string) =>
    port === appPort ? own : `${own}/~${port}`,
  );
}

function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { port, path }: { port: string; path: string },
  { finish, rewritten }: { finish: typeof endAnswer; rewritten: (text: string) => string },
): void {
  // A kept connection that the server closes just then would cut a request that acs may not repeat.
  const own = { host: `127.0.0.1:${port}`, 'accept-encoding': 'identity', connection: 'close' };
  const headers = { ...request.headers, ...own };
  const options = { host: '127.0.0.1', port, path, method: request.method, headers, agent: false };
  const onward = ask(options, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('error', () => response.destroy());
    answer.on('end', () => {
      const body = Buffer.concat(chunks);
      const isJson = /json/.test(answer.headers['content-type'] ?? '');
      const passed = isJson ? Buffer.from(rewritten(body.toString())) : body;
      const { 'transfer-encoding': _, connection: __, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, { ...kept, 'content-length': passed.length });
      finish(response, passed);
    });
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

function upgradeHead(request: IncomingMessage, path: string, port: string): string {
  const lines = [`GET ${path} HTTP/1.1`];
  for (const [name, value] of Object.entries(request.headers)) {
    lines.push(`${name}: ${name === 'host' ? `127.0.0.1:${port}` : String(value)}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function join(open: Set<Duplex>, near: Duplex, far: Socket): void {
  open.add(near).add(far);
  near.pipe(far);
  far.pipe(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => {
      open.delete(one);
      other.destroy();
    });
  }
}
