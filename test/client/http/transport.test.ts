import net from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { Network } from '../../../src/client/http/network.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import { LIMITS_MS, Pace, type PaceLimit } from '../../../src/client/http/time-limits.ts';
import {
  startFake,
  startProxy,
  startRaw,
  untilTestEnds,
  type Reply,
} from '../../support/server.ts';
import { TestClock, until } from '../../support/test-clock.ts';
import { KEY } from '../../support/use-world.ts';
import { failure, NOBODY, ONCE, quickClock, READ, useTransports } from '../support/client.ts';

const server = useTransports();
const { transport } = server;

/** The reply to each of the first requests, and after them `{"ok":true}`. */
function answer(reply: Reply, times = Infinity): void {
  server.fake.asked.length = 0;
  server.fake.handler = () => (server.fake.asked.length <= times ? reply : { json: { ok: true } });
}

/** What a request ends with, and how many were sent. */
async function ends(call = READ, to = transport()): Promise<[AppError | null, number]> {
  const error = await to.request(call).then(
    () => null,
    (reason: unknown) => reason as AppError,
  );
  return [error, server.fake.asked.length];
}

const LIMITED = (retryAfter: string): Reply => ({
  status: 429,
  headers: { 'retry-after': retryAfter },
  json: { message: 'Too many requests' },
});

describe('requests', () => {
  it('send the key, the query and the body, and return parsed JSON', async () => {
    const query = { a: 1, b: ['c', 'd'], none: null };
    const { body } = await transport().request({
      ...ONCE,
      path: '/api/x',
      query,
      body: { e: 'f' },
    });
    expect(body).toEqual({ ok: true });
    expect(server.fake.asked).toMatchObject([
      { method: 'POST', url: '/api/x?a=1&b=c&b=d', body: { e: 'f' } },
    ]);
    expect(server.fake.asked[0]?.headers['x-session-api-key']).toBe(KEY);
  });

  it('follow a redirect on the same origin, and no other', async () => {
    server.fake.handler = ({ path }) =>
      path === '/a/' ? { status: 307, headers: { location: '/a' }, none: true } : { json: path };
    expect((await transport().request({ ...READ, path: '/a/' })).body).toBe('/a');
    const other = await startFake(() => ({ json: 'stolen' }));
    answer({ status: 307, headers: { location: `${other.url}/a` }, none: true });
    const error = await failure(transport().request(READ));
    expect([error.kind, error.details.hint]).toEqual([
      'server',
      expect.stringContaining(other.url),
    ]);
    expect(other.asked).toEqual([]);
    await other.close();
  });

  it('stop with the reason of the signal', async () => {
    const stop = new AbortController();
    server.fake.handler = () => {
      stop.abort(new AppError('interrupted', 'stopped by the user'));
      return { silence: true };
    };
    expect((await failure(transport({ signal: stop.signal }).request(READ))).kind).toBe(
      'interrupted',
    );
  });

  it('write one line for the request and one for the answer, without secrets', async () => {
    const lines: string[] = [];
    answer({ json: { session_api_key: 'sandbox-key-987654', echo: KEY } });
    const body = { llm_api_key: 'sk-very-secret-value' };
    const query = { session_api_key: KEY };
    await transport({ log: (line) => lines.push(line) }).request({
      ...ONCE,
      path: '/api/settings',
      body,
      query,
    });
    expect(lines).toEqual([
      expect.stringMatching(/^> POST http:\/\/127\.0\.0\.1:\d+\/api\/settings/),
      expect.stringMatching(/^< 200 application\/json \d+ ms/),
    ]);
    expect(lines.join('\n')).not.toMatch(
      /app-key-0123456789|sandbox-key-987654|sk-very-secret-value/,
    );
  });
});

describe('an encoded answer', () => {
  const BODY = {
    items: Array.from({ length: 50 }, (_, index) => ({ index, text: 'the same words' })),
  };
  const TEXT = JSON.stringify(BODY);
  const encode = (encoding: string, text: Buffer): void =>
    answer({ text, type: 'application/json', headers: { 'content-encoding': encoding } });

  it.each([
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['identity', Buffer.from(TEXT)],
  ])('is decoded from %s', async (encoding, text) => {
    encode(encoding, text);
    expect((await transport().request(READ)).body).toEqual(BODY);
  });

  it.each([
    [
      'too large after decoding',
      'gzip',
      gzipSync(Buffer.alloc(2_000_001, 0x20)),
      'larger than 1 MiB',
    ],
    ['too large before decoding', 'identity', Buffer.alloc(2_000_001, 0x20), 'larger than 1 MiB'],
    ['cut', 'gzip', gzipSync(TEXT).subarray(0, 40), 'is damaged'],
    ['in an unknown encoding', 'zstd', Buffer.from('anything'), 'encoded as zstd'],
  ])('is an error of the server when it is %s', async (_, encoding, text, words) => {
    encode(encoding, text);
    const error = await failure(transport().request({ ...READ, maxBytes: 2_000_000 }));
    expect([error.kind, error.details.request?.method]).toEqual(['server', 'GET']);
    expect(error.message).toContain(words);
  });
});

describe('errors', () => {
  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [404, 'not-found'],
    [405, 'unsupported'],
    [409, 'conflict'],
    [410, 'conflict'],
    [413, 'usage'],
    [422, 'server'],
    [500, 'server'],
  ])('report status %i as %s with the message of the server', async (status, kind) => {
    answer({ status, json: { detail: 'the words' } });
    const error = await failure(transport().request({ ...READ, path: '/api/x' }));
    expect(error.kind).toBe(kind);
    expect(error.details.request).toEqual({ method: 'GET', url: `${server.fake.url}/api/x` });
    if (kind !== 'auth') expect(error.message).toContain('the words');
  });

  it.each([
    [{ detail: [{ loc: ['body', 'title'], msg: 'too long', input: 'secret' }] }, 'title: too long'],
    [{ detail: { message: 'inner' } }, 'inner'],
    [{ error: 'wrong' }, 'wrong'],
    [{ status: 'error', message: 'said', msg_id: 'X' }, 'said'],
    ['bare text', 'bare text'],
    [{ detail: 'Internal Server Error', exception: '500: why' }, 'why'],
    [{ detail: 'Internal Server Error', exception: '' }, 'Internal Server Error'],
    [{ detail: 'y'.repeat(2000) }, `${'y'.repeat(500)}…`],
  ])('read the message from the format %j, and cut it at 500 characters', async (json, words) => {
    answer({ status: 500, json });
    expect((await failure(transport().request(READ))).message).toBe(
      `the server answered 500 to GET /: ${words}`,
    );
  });

  it.each([
    ['text/html; charset=utf-8', '<html>', 'text/html'],
    ['application/json', '', 'an empty answer'],
    ['application/json', '{"half', 'JSON that cannot be read'],
  ])('suggest checking the URL for an answer of %s: %j', async (type, text, words) => {
    answer({ text, type });
    const error = await failure(transport().request(READ));
    expect([error.kind, error.message]).toEqual(['server', expect.stringContaining(words)]);
    expect(error.details.hint).toContain('is this the right server?');
  });

  it.each([
    [500, true],
    [507, false],
  ])('of status %i are retryable: %s', async (status, retryable) => {
    answer({ status, json: { detail: 'The disk is full' } });
    expect(await failure(transport().request(ONCE))).toMatchObject({
      kind: 'server',
      details: { status, retryable },
    });
  });

  it.each([
    [`http://${NOBODY}`, 'connection refused', true],
    ['http://no-such-host.invalid', 'no-such-host.invalid', false],
  ])('name %s, which cannot be reached', async (baseUrl, words, retryable) => {
    const error = await failure(transport({ baseUrl }).request(ONCE));
    expect(error).toMatchObject({ kind: 'network', exitCode: 10, details: { retryable } });
    expect(error.message).toContain(words);
  });

  it('allow each address of a name more time than a distant server needs', async () => {
    await transport({ baseUrl: `http://localhost:${new URL(server.fake.url).port}` }).request(READ);
    expect(net.getDefaultAutoSelectFamilyAttemptTimeout()).toBeGreaterThanOrEqual(2_000);
  });

  it('name a server that does not answer in time', async () => {
    // The connection stands by then, so that no slow making of it is taken for the silence.
    await transport().request(READ);
    answer({ silence: true });
    const error = await failure(transport({ requestTimeoutMs: 1_100 }).request(READ));
    expect(error.message).toContain('sent nothing for 1.1 s');
  });

  it('name a port that does not speak HTTP or TLS', async () => {
    const { url } = await untilTestEnds(startRaw('SSH-2.0-server\r\n'));
    for (const [scheme, words] of [
      ['http', 'does not speak HTTP'],
      ['https', 'TLS'],
    ]) {
      const baseUrl = url.replace('http', scheme ?? '');
      expect((await failure(transport({ baseUrl }).request(READ))).message).toContain(words);
    }
  });
});

/** Without the limits of answers. */
const pausesOf = ({ pauses }: TestClock): number[] =>
  pauses.filter((ms) => ms !== 10 * LIMITS_MS.request);

describe('retries', () => {
  it.each([429, 502, 503, 504])('repeat a read on %i, four tries in all', async (status) => {
    answer({ status, json: { detail: 'later' } }, 3);
    expect(await ends()).toEqual([null, 4]);
  });

  it('repeat an idempotent request that was cut, four tries in all', async () => {
    answer({ cut: true });
    const [error, sent] = await ends({ ...READ, safe: 'idempotent' });
    expect([error?.kind, error?.details.retryable, sent]).toEqual(['network', true, 4]);
  });

  it.each<[string, Reply, string | undefined, number]>([
    ['a cut: its outcome is unknown', { cut: true }, 'unknown-outcome', 1],
    ['502 in JSON', { status: 502, json: { detail: 'no' } }, 'server', 1],
    ['503', { status: 503, json: { detail: 'no' } }, 'server', 1],
    ['504: its outcome is unknown', { status: 504, json: { detail: 'no' } }, 'unknown-outcome', 1],
    ['429, on which it is repeated', { status: 429, json: {} }, 'rate-limited', 4],
  ])('send a create once at %s', async (_, reply, kind, requests) => {
    answer(reply);
    const [error, sent] = await ends(ONCE);
    expect([error?.kind, sent]).toEqual([kind, requests]);
  });

  it('obey Retry-After, and give up on one that is too long', async () => {
    answer(LIMITED('7'), 1);
    expect(await ends()).toEqual([null, 2]);
    expect(pausesOf(server.clock).some((ms) => ms >= 6_900)).toBe(true);
    answer(LIMITED('3600'));
    const [error, sent] = await ends();
    expect([error?.kind, error?.exitCode, sent]).toEqual(['rate-limited', 7, 1]);
  });

  it('are spread out after requests were refused together, because the server counts refused requests', async () => {
    answer(LIMITED('1'));
    const waits: number[][] = [];
    for (let client = 0; client < 8; client++) {
      const clock = quickClock();
      await failure(transport({ clock, pace: new Pace(() => null, clock) }).request(READ));
      waits.push(pausesOf(clock).filter((ms) => ms >= 1_000));
    }
    const last = waits.map((each) => each[2] ?? 0);
    expect(waits.every((each) => each.length === 3 && each.every((ms) => ms < 5_000))).toBe(true);
    expect(Math.max(...last) - Math.min(...last)).toBeGreaterThan(250);
  });

  /** The notices of two requests that wait together, the first after this many others. */
  async function noticesOfTwo(before: number): Promise<string[]> {
    const notices: string[] = [];
    const clock = new TestClock();
    const stop = new AbortController();
    const options = { clock, pace: new Pace(() => null, clock), signal: stop.signal };
    const sent = transport({ ...options, notice: (text) => void notices.push(text) });
    for (let count = 0; count < before; count++) await sent.request(READ);
    expect(notices).toEqual([]);
    const asked = Promise.allSettled([sent.request(READ), sent.request(READ)]);
    await until(() => pausesOf(clock).length === 2);
    stop.abort();
    await asked;
    return notices.map((text) => text.replace(`${server.fake.url} `, ''));
  }

  it.each([
    ['4', []],
    ['7', ['answers 429 and asks to wait: 7 s']],
  ])(
    'report a Retry-After of %s s once for all waiting requests, when it is long',
    async (seconds, notices) => {
      answer(LIMITED(seconds));
      expect(await noticesOfTwo(0)).toEqual(notices);
    },
  );

  it.each([
    ['4', []],
    ['40', ['limits the rate of requests; the next one waits: 40 s']],
  ])('report a used-up limit, reset in %s s, once, when it is long', async (reset, notices) => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    answer({ json: 1, headers }, 1);
    expect(await noticesOfTwo(1)).toEqual(notices);
  });

  it('send no request until a used-up limit is reset', async () => {
    answer({ json: 1, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' } }, 1);
    const sent = transport();
    await sent.request(READ);
    expect(pausesOf(server.clock)).toEqual([]);
    await sent.request(READ);
    expect(pausesOf(server.clock).reduce((sum, ms) => sum + ms, 0)).toBe(9_000);
  });
});

describe('the pace', () => {
  it.each<[string, PaceLimit | null, number, number]>([
    ['allows a burst', { perSecond: 8, burst: 10 }, 10, 0],
    ['spaces the requests after a burst', { perSecond: 8, burst: 10 }, 14, 4],
    ['does not limit the local service', null, 500, 0],
  ])('%s', async (_, limit, turns, pauses) => {
    const pace = new Pace(() => limit, server.clock);
    for (let turn = 0; turn < turns; turn++) await pace.turn(new AbortController().signal);
    expect(server.clock.pauses).toHaveLength(pauses);
  });
});

describe('proxies', () => {
  const proxied = (proxy: string): Network =>
    new Network({
      env: { HTTP_PROXY: proxy },
      connectTimeoutMs: 5_000,
      redaction: new Redaction([]),
    });

  it('are used for other hosts, which alone may encode an answer, and never for loopback', async () => {
    const proxy = await untilTestEnds(startProxy({ to: () => server.fake.url }));
    const network = proxied(proxy.url);
    for (const baseUrl of ['http://server.invalid', server.fake.url])
      expect((await transport({ network, baseUrl }).request(READ)).body).toEqual({ ok: true });
    expect(proxy.asked.map(({ url }) => url)).toEqual(['server.invalid:80']);
    expect(server.fake.asked.map(({ headers }) => headers['accept-encoding'])).toEqual([
      'gzip, br',
      'identity',
    ]);
    network.close();
  });

  it.each(['http://server.invalid', 'https://server.invalid'])(
    'are named when they do not listen, for %s',
    async (baseUrl) => {
      const network = proxied(`http://${NOBODY}`);
      const error = await failure(transport({ network, baseUrl }).request(READ));
      network.close();
      expect(error).toMatchObject({
        kind: 'network',
        message: `nothing listens at the proxy ${NOBODY} (connection refused)`,
        details: { hint: 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY' },
      });
    },
  );
});
