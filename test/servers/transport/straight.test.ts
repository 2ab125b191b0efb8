import http from 'node:http';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { failure } from '../support/failure.ts';
import { classifyFailure } from '../../../src/servers/transport/failure.ts';
import { createStraight, type Sending, type Straight } from '../../../src/servers/transport/straight.ts';

/** A limit that is not meant to be met. */
const LONG_MS = 30_000;

const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

function client(limits: { connectTimeoutMs?: number; idleMs?: number } = {}): Straight {
  const straight = createStraight({ connectTimeoutMs: LONG_MS, idleMs: 4_000, ...limits });
  opened.push(straight);
  return straight;
}

const sending = (members: Partial<Sending> = {}): Sending => ({
  method: 'GET',
  headers: {},
  body: null,
  silenceMs: LONG_MS,
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
  const error = await answer.then(
    () => null,
    (failure: unknown) => failure,
  );
  return error === null
    ? 'answered'
    : `${classifyFailure(error, 'host', 100).class}: ${classifyFailure(error, 'host', 100).text}`;
}

describe('a request without a proxy', () => {
  it('sends the length of its body with every method', async () => {
    const { url } = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => response.end(`${request.headers['content-length']} ${Buffer.concat(chunks).toString()}`));
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
    const { url, sockets } = await serve((_, response) => setTimeout(() => response.end('late'), 300));
    const straight = client({ idleMs: 100 });
    for (let count = 0; count < 2; count++)
      expect(Buffer.from((await straight.send(url, 'kept', sending())).bytes).toString()).toBe('late');
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

  /** A client with a connection that stands, so that no slow making of it is taken for a silence of the server. */
  async function connectedTo(url: string): Promise<Straight> {
    const straight = client();
    await straight.send(`${url}first`, 'kept', sending());
    return straight;
  }

  it('fails when the server sends nothing', async () => {
    const { url } = await serve(({ url: path }, response) => void (path === '/first' && response.end()));
    const straight = await connectedTo(url);
    expect(await classOf(straight.send(url, 'kept', sending({ silenceMs: 300 })))).toBe(
      'timeout: host sent nothing for 0.1 s',
    );
  });

  it('fails when the server stops in the middle of an answer', async () => {
    const { url } = await serve(({ url: path }, response) => {
      if (path === '/first') return void response.end();
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
    });
    const straight = await connectedTo(url);
    expect(await classOf(straight.send(url, 'kept', sending({ silenceMs: 300 })))).toContain('sent nothing');
  });

  it('fails on an answer that is too large', async () => {
    const { url } = await serve((_, response) => response.end(Buffer.alloc(100_000)));
    const error = await failure(client().send(url, 'kept', sending({ maxBytes: 99_999 })));
    expect([error.kind, error.message.includes('larger than the 99999 bytes')]).toEqual(['server', true]);
    expect((await client().send(url, 'kept', sending({ maxBytes: 100_000 }))).bytes).toHaveLength(100_000);
  });

  it('fails with a connection error when TLS is not established in time', async () => {
    const url = (await say('')).replace('http:', 'https:');
    const failed = classOf(client({ connectTimeoutMs: 200 }).send(url, 'kept', sending()));
    expect(await failed).toBe('timeout: no connection to host within 0.1 s');
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
      expect(classifyFailure(error, 'host', 100)).toMatchObject({ class: 'timeout', sent: 'no' });
    },
  );

  it('fails when a server switches protocols without a request', async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n';
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

  it('ends when its signal aborts', async () => {
    const stop = new AbortController();
    const { url } = await serve(() => stop.abort());
    await expect(client().send(url, 'kept', sending({ signal: stop.signal }))).rejects.toThrow(/abort/i);
  });

  it('ends when its client is closed', async () => {
    const straight = client();
    const { url } = await serve(() => straight.close());
    expect(await classOf(straight.send(url, 'kept', sending()))).toContain('reset');
  });
});
