import { createHash } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { clockFrom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { failure } from '../support/client.ts';
import { classifyFailure } from '../../../src/client/http/answer.ts';
import { Network, type Sending, proxyFor } from '../../../src/client/http/network.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import { TestClock, until } from '../../support/test-clock.ts';

/** A limit that is not meant to be met. */
const LONG_MS = 30_000;

const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

function client(limits: { connectTimeoutMs?: number; idleMs?: number } = {}): Network {
  const straight = new Network({
    env: {},
    redaction: new Redaction([]),
    connectTimeoutMs: LONG_MS,
    ...limits,
  });
  opened.push(straight);
  return straight;
}

const sending = (members: Partial<Sending> = {}): Sending => ({
  method: 'GET',
  headers: {},
  body: null,
  silenceMs: LONG_MS,
  clock: clockFrom(Date.now),
  maxBytes: 1_000_000,
  signal: new AbortController().signal,
  ...members,
});

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as net.AddressInfo).port;
}

interface Served {
  url: string;
  /** Its connections, one for each request. */
  sockets: net.Socket[];
  /** Resolves when its first connection is closed. */
  closed: Promise<void>;
}

async function serve(handler: http.RequestListener): Promise<Served> {
  const sockets: net.Socket[] = [];
  const server = http.createServer((request, response) => {
    sockets.push(request.socket);
    handler(request, response);
  });
  const closed = new Promise<void>((resolve) =>
    server.once('connection', (socket) => socket.once('close', () => resolve())),
  );
  opened.push({ close: () => (server.closeAllConnections(), server.close()) });
  return { url: `http://127.0.0.1:${await listen(server)}/`, sockets, closed };
}

/** A server of raw bytes: its answer to the first bytes of a client. */
async function say(text: string): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => (text === '' ? undefined : socket.end(text)));
  });
  opened.push({ close: () => (sockets.forEach((socket) => socket.destroy()), server.close()) });
  return `http://127.0.0.1:${await listen(server)}/`;
}

async function classOf(answer: Promise<unknown>): Promise<string> {
  return await answer.then(
    () => 'answered',
    (error: unknown) => {
      const { class: of, text } = classifyFailure(error, 'http://host', 100);
      return `${of}: ${text}`;
    },
  );
}

describe('a request without a proxy', () => {
  it('sends the length of its body with every method', async () => {
    const { url } = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () =>
        response.end(`${request.headers['content-length']} ${Buffer.concat(chunks).toString()}`),
      );
    });
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      const { bytes } = await client().send(url, 'kept', sending({ method, body: '{"ü":1}' }));
      expect(Buffer.from(bytes).toString(), method).toBe('8 {"ü":1}');
    }
  });

  it('reuses a connection, but not one that was idle for too long', async () => {
    const { url, sockets, closed } = await serve((_, response) => response.end('x'));
    const straight = client({ idleMs: 100 });
    for (let count = 0; count < 3; count++) await straight.send(url, 'kept', sending());
    expect(new Set(sockets).size).toBe(1);
    await closed;
    await straight.send(url, 'kept', sending());
    expect(new Set(sockets).size).toBe(2);
    await straight.send(url, 'fresh', sending());
    await straight.send(url, 'fresh', sending());
    expect(new Set(sockets).size).toBe(4);
  });

  it('waits longer for an answer than a connection is kept idle', async () => {
    const { url, sockets } = await serve((_, response) =>
      setTimeout(() => response.end('late'), 300),
    );
    const straight = client({ idleMs: 100 });
    for (let count = 0; count < 2; count++)
      expect(Buffer.from((await straight.send(url, 'kept', sending())).bytes).toString()).toBe(
        'late',
      );
    expect(sockets).toHaveLength(2);
  });

  it.each([
    [
      'an answer that is cut in its middle',
      'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf',
      'reset: the connection to host was cut',
    ],
    ['no answer at all', '\r\n', 'reset: the connection to host was cut'],
    [
      'chunks that are none',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx',
      'other: host does not speak HTTP',
    ],
  ])('fails on %s', async (_, text, expected) => {
    expect(await classOf(client().send(await say(text), 'kept', sending()))).toBe(expected);
  });

  /**
   * A client with a connection that stands, so that no slow making of it is taken for a silence of
   * the server.
   */
  async function connectedTo(url: string): Promise<Network> {
    const straight = client();
    await straight.send(`${url}first`, 'kept', sending());
    return straight;
  }

  it('fails when the server stops in the middle of an answer', async () => {
    const { url } = await serve(({ url: path }, response) => {
      if (path === '/first') return void response.end();
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
    });
    const straight = await connectedTo(url);
    expect(await classOf(straight.send(url, 'kept', sending({ silenceMs: 300 })))).toContain(
      'sent nothing',
    );
  });

  it.each([
    [200, LONG_MS],
    [LONG_MS, 200],
    [200, 200],
  ])(
    'distinguishes a connection that is not established from a silent server, with %i ms for one and %i ms for the other',
    async (...[connectTimeoutMs, silenceMs]) => {
      const url = (await say('')).replace('http:', 'https:');
      const error = await client({ connectTimeoutMs })
        .send(url, 'kept', sending({ silenceMs }))
        .catch((failure: unknown) => failure);
      expect(classifyFailure(error, 'http://host', 100)).toMatchObject({
        class: 'timeout',
        sent: 'no',
      });
    },
  );

  it('fails when a server switches protocols without a request', async () => {
    const upgrade =
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n';
    expect(await classOf(client().send(await say(upgrade), 'kept', sending()))).toContain('reset');
  });

  it('may wait for its turn and its answer longer than the connection time-out', async () => {
    const { url } = await serve((request, response) =>
      setTimeout(() => response.end('x'), request.url === '/slow' ? 3_000 : 20),
    );
    const straight = client({ connectTimeoutMs: 2_000 });
    const first = Array.from({ length: 16 }, () => straight.send(url, 'kept', sending()));
    // No connection is left for this one: it gets one that has been used.
    const queued = straight.send(`${url}slow`, 'kept', sending());
    await Promise.all(first);
    expect(await classOf(queued)).toBe('answered');
  });

  it('ends when its client is closed', async () => {
    const straight = client();
    const { url } = await serve(() => straight.close());
    expect(await classOf(straight.send(url, 'kept', sending()))).toContain('reset');
  });
});

describe('a web socket', () => {
  it('ends with the network when its peer never answers the close frame', async () => {
    let peer: Duplex | null = null;
    const server = http.createServer();
    server.on('upgrade', ({ headers }, stream: Duplex) => {
      const key = createHash('sha1').update(
        `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
      );
      peer = stream.on('error', () => undefined);
      stream.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n',
      );
      stream.write(`sec-websocket-accept: ${key.digest('base64')}\r\n\r\n`);
    });
    opened.push(server);
    const network = client();
    const socket = await network.openSocket(
      `ws://127.0.0.1:${await listen(server)}/sockets/events/1`,
      {},
    );
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    const stream = peer as Duplex | null;
    const ended = new Promise<string>((resolve) =>
      stream?.resume().once('end', () => resolve('ended')),
    );
    socket.close();
    network.close();
    expect(await ended).toBe('ended');
    stream?.destroy();
  });
});

describe('the total time of an answer', () => {
  const part = Buffer.alloc(1024 * 1024);

  it('is ten times the longest silence, and as long again for each 8 MiB received', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200);
      for (let count = 0; count < 9; count++) response.write(part);
    });
    const clock = new TestClock();
    let received = 0;
    const into = (bytes: Uint8Array): Promise<void> => {
      received += bytes.length;
      return Promise.resolve();
    };
    const answer = classOf(client().send(url, 'fresh', sending({ clock, into })));
    await until(() => received === 9 * part.length);
    await clock.pass(10 * LONG_MS);
    expect(clock.sleeping).toBe(1);
    await clock.pass(10 * LONG_MS);
    expect(await answer).toBe('timeout: host did not complete its answer within 600 s');
  });

  it('does not include the time that the receiver of the answer needs', async () => {
    const { url } = await serve((_, response) => response.end('whole'));
    const clock = new TestClock();
    let proceed: (() => void) | null = null;
    const into = (): Promise<void> => new Promise((resolve) => (proceed = resolve));
    const answer = classOf(client().send(url, 'fresh', sending({ clock, into })));
    await until(() => proceed !== null);
    await clock.pass(100 * LONG_MS);
    proceed!();
    expect(await answer).toBe('answered');
    expect(clock.sleeping).toBe(0);
  });
});

describe('a body in parts', () => {
  const slowly = async function* (): AsyncGenerator<Uint8Array> {
    for (const part of ['one ', 'two']) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      yield Buffer.from(part);
    }
  };
  const echo: http.RequestListener = (request, response) => void request.pipe(response);

  it('may come slower than the limit of a silent server', async () => {
    const { url } = await serve(echo);
    const { bytes } = await client().send(
      url,
      'fresh',
      sending({ method: 'POST', body: slowly(), silenceMs: 200 }),
    );
    expect(Buffer.from(bytes).toString()).toBe('one two');
  });

  it('may be received slower than the limit of a silent server', async () => {
    const { url } = await serve((_, response) => response.end('whole'));
    const parts: string[] = [];
    const into = async (part: Uint8Array): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      parts.push(Buffer.from(part).toString());
    };
    expect(await client().send(url, 'fresh', sending({ into, silenceMs: 200 }))).toMatchObject({
      status: 200,
    });
    expect(parts.join('')).toBe('whole');
  });

  it('ends the request with the error of its source', async () => {
    const { url } = await serve(echo);
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield* slowly();
      throw new AppError('config', 'cannot read the file');
    };
    const error = await failure(
      client().send(url, 'fresh', sending({ method: 'POST', body: broken() })),
    );
    expect([error.kind, error.message]).toEqual(['config', 'cannot read the file']);
  });
});

describe('the proxy of a request', () => {
  it.each([
    [
      'https://far.example/x',
      { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:1' },
      'http://p:1',
    ],
    ['https://far.example/x', { http_proxy: 'http://q:1' }, 'http://q:1'],
    ['http://far.example/x', { HTTPS_PROXY: 'http://p:1' }, null],
    ['http://127.0.0.1:3000/', { HTTP_PROXY: 'http://q:1' }, null],
    [
      'http://sub.far.example/x',
      { HTTP_PROXY: 'http://q:1', NO_PROXY: 'other, .far.example' },
      null,
    ],
    [
      'http://far.example/x',
      { HTTP_PROXY: 'http://q:1', NO_PROXY: 'far.example:81' },
      'http://q:1',
    ],
    ['http://far.example:81/x', { HTTP_PROXY: 'http://q:1', no_proxy: 'far.example:81' }, null],
    [
      'http://notfar.example/x',
      { HTTP_PROXY: 'http://q:1', NO_PROXY: 'far.example' },
      'http://q:1',
    ],
    ['http://far.example/x', { HTTP_PROXY: 'http://q:1', NO_PROXY: '*' }, null],
  ])('to %s with %o is %s', (url, env, expected) => {
    expect(proxyFor(url, env)).toBe(expected);
  });
});

it('a request ends when it is aborted while the proxy does not complete its answer to CONNECT', async () => {
  const sockets: net.Socket[] = [];
  const proxy = net.createServer((socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .resume()
      .write('HTTP/1.1 200 OK\r\nx: ');
  });
  opened.push({ close: () => (sockets.forEach((socket) => socket.destroy()), proxy.close()) });
  const env = { HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}` };
  const network = new Network({ env, redaction: new Redaction([]), connectTimeoutMs: LONG_MS });
  const interruption = new AbortController();
  const answer = failure(
    network.send('https://far.example/', 'kept', sending({ signal: interruption.signal })),
  );
  await until(() => sockets.length === 1);
  interruption.abort(new AppError('interrupted', 'by the user'));
  expect(await answer).toBe(interruption.signal.reason);
  network.close();
  await until(() => sockets[0]?.destroyed === true);
});

describe('a connection that is lost', () => {
  it('may have sent the request, unless it was not established yet', () => {
    const lost = (syscall: string): unknown =>
      Object.assign(new Error('gone'), { code: 'ETIMEDOUT', syscall });
    expect(classifyFailure(lost('read'), 'http://host', 1000)).toMatchObject({
      class: 'reset',
      sent: 'maybe',
    });
    expect(classifyFailure(lost('connect'), 'http://host', 1000)).toMatchObject({
      class: 'timeout',
      sent: 'no',
    });
    const both = Object.assign(new AggregateError([lost('connect')]), { code: 'ETIMEDOUT' });
    expect(classifyFailure(both, 'http://host', 1000)).toMatchObject({
      class: 'timeout',
      sent: 'no',
    });
  });
});
