import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as later } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { clockFrom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { failure } from '../support/client.ts';
import { classifyFailure } from '../../../src/client/http/answer.ts';
import { Network, type Sending, proxyFor } from '../../../src/client/http/network.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import {
  startFake,
  startRaw,
  untilTestEnds,
  type FakeServer,
  type Handler,
  type Reply,
} from '../../support/server.ts';
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

async function serve(handler: Handler): Promise<FakeServer & { closed: Promise<unknown> }> {
  let connected: (socket: Socket) => void;
  const closed = new Promise<Socket>((resolve) => (connected = resolve)).then((first) =>
    once(first, 'close'),
  );
  const server = await untilTestEnds(
    startFake((asked) => {
      connected(asked.socket);
      return handler(asked);
    }),
  );
  return Object.assign(server, { closed });
}

const text = (answer: string): Reply => ({ text: answer, type: 'text/plain' });

/** A server of raw bytes: its answer to the first bytes of a client. */
const say = async (answer: string | null) => (await untilTestEnds(startRaw(answer))).url;

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
    const { url } = await serve(({ headers, text: body }) =>
      text(`${headers['content-length']} ${body}`),
    );
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      const { bytes } = await client().send(url, 'kept', sending({ method, body: '{"ü":1}' }));
      expect(Buffer.from(bytes).toString(), method).toBe('8 {"ü":1}');
    }
  });

  it('reuses a connection, but not one that was idle for too long', async () => {
    const { url, asked, closed } = await serve(() => text('x'));
    const connections = () => new Set(asked.map(({ socket }) => socket)).size;
    const straight = client({ idleMs: 100 });
    for (let count = 0; count < 3; count++) await straight.send(url, 'kept', sending());
    expect(connections()).toBe(1);
    await closed;
    await straight.send(url, 'kept', sending());
    expect(connections()).toBe(2);
    await straight.send(url, 'fresh', sending());
    await straight.send(url, 'fresh', sending());
    expect(connections()).toBe(4);
  });

  it('waits longer for an answer than a connection is kept idle', async () => {
    const { url, asked } = await serve(() => later(300, text('late')));
    const straight = client({ idleMs: 100 });
    for (let count = 0; count < 2; count++)
      expect(Buffer.from((await straight.send(url, 'kept', sending())).bytes).toString()).toBe(
        'late',
      );
    expect(asked).toHaveLength(2);
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
    await straight.send(`${url}/first`, 'kept', sending());
    return straight;
  }

  it('fails when the server stops in the middle of an answer', async () => {
    const { url } = await serve(({ path }) =>
      path === '/first' ? { none: true } : { starts: 'half', headers: { 'content-length': '10' } },
    );
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
      const url = (await say(null)).replace('http:', 'https:');
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
    const { url } = await serve(({ path }) => later(path === '/slow' ? 3_000 : 20, text('x')));
    const straight = client({ connectTimeoutMs: 2_000 });
    const first = Array.from({ length: 16 }, () => straight.send(url, 'kept', sending()));
    // No connection is left for this one: it gets one that has been used.
    const queued = straight.send(`${url}/slow`, 'kept', sending());
    await Promise.all(first);
    expect(await classOf(queued)).toBe('answered');
  });

  it('ends when its client is closed', async () => {
    const straight = client();
    const { url } = await serve(() => {
      straight.close();
      return { silence: true };
    });
    expect(await classOf(straight.send(url, 'kept', sending()))).toContain('reset');
  });
});

describe('a web socket', () => {
  it('ends with the network when its peer never answers the close frame', async () => {
    const accept = (key: string | undefined) =>
      createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    const peer = await untilTestEnds(
      startRaw((stream) =>
        stream.once('data', (head: Buffer) => {
          const key = /^sec-websocket-key: *(\S+)/im.exec(head.toString())?.[1];
          stream.write(
            'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n' +
              `sec-websocket-accept: ${accept(key)}\r\n\r\n`,
          );
        }),
      ),
    );
    const network = client();
    const url = `${peer.url.replace('http', 'ws')}/sockets/events/1`;
    const socket = await network.openSocket(url, {});
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    const ended = once(peer.sockets[0]!.resume(), 'end');
    socket.close();
    network.close();
    await ended;
  });
});

describe('the total time of an answer', () => {
  const part = Buffer.alloc(1024 * 1024);

  it('is ten times the longest silence, and as long again for each 8 MiB received', async () => {
    const { url } = await serve(() => ({
      by: (response) => void Array.from({ length: 9 }, () => response.write(part)),
    }));
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
    const { url } = await serve(() => text('whole'));
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
  const echo: Handler = ({ text: body }) => text(body);

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
    const { url } = await serve(() => text('whole'));
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
  const proxy = await untilTestEnds(
    startRaw((socket) => socket.resume().write('HTTP/1.1 200 OK\r\nx: ')),
  );
  const env = { HTTPS_PROXY: proxy.url };
  const network = new Network({ env, redaction: new Redaction([]), connectTimeoutMs: LONG_MS });
  const interruption = new AbortController();
  const answer = failure(
    network.send('https://far.example/', 'kept', sending({ signal: interruption.signal })),
  );
  await until(() => proxy.sockets.length === 1);
  interruption.abort(new AppError('interrupted', 'by the user'));
  expect(await answer).toBe(interruption.signal.reason);
  network.close();
  await until(() => proxy.sockets[0]?.destroyed === true);
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
