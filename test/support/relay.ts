/** Servers between acs and a server: one link whose frames get lost, and a relay. */
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

// Fault injection between acs and a web socket: frames are duplicated, delayed and swapped, and
// connections end.

/**
 * `cut` ends the TCP connection, `torn` does so within a frame, a number closes the socket with
 * that code.
 */
export type CutKind = 'cut' | 'torn' | number;
export type FrameFault = 'none' | 'twice' | 'swap' | 'delay' | CutKind;

export interface Faults {
  /** What happens to the next frame on its way to acs. */
  frame(): FrameFault;
}

/**
 * How long a frame waits that is delayed, with all behind it; and one that is swapped when no other
 * frame comes.
 */
const PAUSE_MS = 4;

/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Passes a web socket on to `target` with the headers of the request; a refusal is passed back. */
export function linkSockets(
  request: IncomingMessage,
  { socket, head }: { socket: Duplex; head: Buffer },
  target: { url: string; host: string },
  faults: Faults,
): void {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const key = request.headers['x-session-api-key'];
  const far = new WebSocket(target.url, {
    perMessageDeflate: false,
    headers: { host: target.host, ...(key === undefined ? {} : { 'x-session-api-key': key }) },
  });
  const early: string[] = [];
  const keep = (data: unknown): void => void early.push(String(data));
  far.on('message', keep);
  far.on('error', () => socket.destroy());
  far.on('unexpected-response', (_, { statusCode }) => {
    socket.end(`HTTP/1.1 ${statusCode} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  });
  socket.on('close', () => far.terminate());
  far.on('open', () => {
    server.handleUpgrade(request, socket, head, (near) => {
      const link = new Link(near, socket, faults);
      far.off('message', keep);
      for (const text of early) link.pass(text);
      far.on('message', (data) => link.pass(String(data)));
      far.on('close', (code) => link.close(code));
      near.on('message', (data) => far.send(String(data)));
      near.on('error', () => far.terminate());
    });
  });
}

class Link {
  private readonly near: WebSocket;
  private readonly socket: Duplex;
  private readonly faults: Faults;
  private queue: string[] = [];
  private held: string | null = null;
  private isPaused = false;

  constructor(near: WebSocket, socket: Duplex, faults: Faults) {
    this.near = near;
    this.socket = socket;
    this.faults = faults;
  }

  pass(text: string): void {
    this.queue.push(text);
    this.flush();
  }

  close(code: number): void {
    if (code >= 1000 && code !== 1005 && code !== 1006) this.near.close(code);
    else this.near.terminate();
  }

  private flush(): void {
    while (!this.isPaused && this.near.readyState === this.near.OPEN) {
      const text = this.queue.shift();
      if (text === undefined) return;
      this.one(text, this.faults.frame());
    }
  }

  private one(text: string, fault: FrameFault): void {
    if (fault === 'swap' && this.held === null) return this.hold(text);
    if (fault === 'delay') {
      this.queue.unshift(text);
      this.isPaused = true;
      return this.later(() => {
        this.isPaused = false;
        const next = this.queue.shift();
        if (next !== undefined) this.send(next);
        this.flush();
      });
    }
    if (fault === 'cut') return this.near.terminate();
    if (fault === 'torn') {
      // The head of a text frame of 100 bytes, and not all of them.
      this.socket.write(Buffer.concat([Buffer.from([0x81, 100]), Buffer.from(text.slice(0, 40))]));
      this.socket.end();
      return;
    }
    if (typeof fault === 'number') return this.near.close(fault);
    this.send(text);
    if (fault === 'twice') this.send(text);
  }

  /** Kept back until another frame was sent. */
  private hold(text: string): void {
    this.held = text;
    this.later(() => this.release());
  }

  private send(text: string): void {
    this.near.send(text);
    this.release();
  }

  private release(): void {
    const { held } = this;
    this.held = null;
    if (held !== null && this.near.readyState === this.near.OPEN) this.near.send(held);
  }

  private later(what: () => void): void {
    setTimeout(what, PAUSE_MS).unref();
  }
}

// Stands between acs and a server with its sandboxes, so that a case can count requests, slow them
// down, and take sockets away as some proxies do. Addresses of sandboxes in answers become paths of
// the relay.

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
