import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createNetwork } from '../../../src/servers/transport/network.ts';
import { createPace, type PaceLimit } from '../../../src/servers/transport/pace.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';
import { until } from '../../support/until.ts';
import { quickClock } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { startFake } from '../support/fake-server.ts';
import { TestClock } from '../../support/test-clock.ts';
import { NOBODY, useTransports } from '../support/transport.ts';
import { KEY } from '../support/v1-world.ts';

const server = useTransports();
const { transport } = server;

describe('requests', () => {
  it('send the key, the query and the body, and return parsed JSON', async () => {
    const answer = await transport().request({
      method: 'POST',
      path: '/api/x',
      query: { a: 1, b: ['c', 'd'], none: null },
      body: { e: 'f' },
      safe: 'once',
    });
    expect(answer.body).toEqual({ ok: true });
    expect(server.fake.asked[0]).toMatchObject({ method: 'POST', path: '/api/x', body: { e: 'f' } });
    expect(server.fake.asked[0]?.query.toString()).toBe('a=1&b=c&b=d');
    expect(server.fake.asked[0]?.headers['x-session-api-key']).toBe(KEY);
  });

  it('follow a redirect on the same origin, and no other', async () => {
    server.fake.handler = ({ path }) =>
      path === '/a/' ? { status: 307, headers: { location: '/a' }, none: true } : { json: path };
    expect((await transport().request({ method: 'GET', path: '/a/', safe: 'read' })).body).toBe('/a');
    const other = await startFake(() => ({ json: 'stolen' }));
    server.fake.handler = () => ({ status: 307, headers: { location: `${other.url}/a` }, none: true });
    const error = await failure(transport().request({ method: 'GET', path: '/a', safe: 'read' }));
    expect(error.kind).toBe('server');
    expect(error.details.hint).toContain(other.url);
    expect(other.asked).toEqual([]);
    await other.close();
  });

  it('stop with the reason of the signal', async () => {
    const stop = new AbortController();
    server.fake.handler = () => {
      stop.abort(new AppError('interrupted', 'stopped by the user'));
      return { silence: true };
    };
    const error = await failure(transport({ signal: stop.signal }).request({ method: 'GET', path: '/', safe: 'read' }));
    expect(error.kind).toBe('interrupted');
  });

  it('write one line for the request and one for the answer, without secrets', async () => {
    const lines: string[] = [];
    server.fake.handler = () => ({ json: { session_api_key: 'sandbox-key-987654', echo: KEY } });
    const sent = transport({ log: (line) => lines.push(line) });
    await sent.request({
      method: 'POST',
      path: '/api/settings',
      body: { llm_api_key: 'sk-very-secret-value' },
      query: { session_api_key: KEY },
      safe: 'once',
    });
    expect(lines).toHaveLength(2);
    expect(lines.join('\n')).not.toMatch(/app-key-0123456789|sandbox-key-987654|sk-very-secret-value/);
    expect(lines[0]).toMatch(/^> POST http:\/\/127\.0\.0\.1:\d+\/api\/settings/);
    expect(lines[1]).toMatch(/^< 200 application\/json \d+ ms/);
  });
});

describe('retries', () => {
  it('repeat a read on 429, 502, 503, 504 and a cut, four tries in all', async () => {
    for (const status of [429, 502, 503, 504]) {
      server.fake.asked.length = 0;
      server.fake.handler = () => (server.fake.asked.length < 4 ? { status, json: { detail: 'later' } } : { json: 1 });
      expect((await transport().request({ method: 'GET', path: '/', safe: 'read' })).body).toBe(1);
      expect(server.fake.asked).toHaveLength(4);
    }
    server.fake.asked.length = 0;
    server.fake.handler = () => ({ cut: true });
    const error = await failure(transport().request({ method: 'GET', path: '/', safe: 'idempotent' }));
    expect([error.kind, error.details.retryable]).toEqual(['network', true]);
    expect(server.fake.asked).toHaveLength(4);
  });

  it('obey Retry-After, and give up on one that is too long', async () => {
    server.fake.handler = () =>
      server.fake.asked.length < 2
        ? { status: 429, headers: { 'retry-after': '7' }, json: { message: 'Too many requests' } }
        : { json: 1 };
    await transport().request({ method: 'GET', path: '/', safe: 'read' });
    expect(server.clock.pauses.some((ms) => ms >= 6_900)).toBe(true);
    server.fake.asked.length = 0;
    server.fake.handler = () => ({
      status: 429,
      headers: { 'retry-after': '3600' },
      json: { error: 'Rate limit exceeded' },
    });
    const error = await failure(transport().request({ method: 'GET', path: '/', safe: 'read' }));
    expect([error.kind, error.exitCode, server.fake.asked.length]).toEqual(['rate-limited', 7, 1]);
  });

  it('are spread out after requests were refused together, because the server counts refused requests', async () => {
    server.fake.handler = () => ({
      status: 429,
      headers: { 'retry-after': '1' },
      json: { message: 'Too many requests' },
    });
    const read = { method: 'GET', path: '/', safe: 'read' } as const;
    const waits: number[][] = [];
    for (let client = 0; client < 8; client++) {
      const own = quickClock();
      await failure(transport({ clock: own, pace: createPace(() => null, own) }).request(read));
      waits.push(own.pauses.filter((ms) => ms >= 1_000));
    }
    const last = waits.map((each) => each[2] ?? 0);
    expect(waits.every((each) => each.length === 3 && each.every((ms) => ms < 5_000))).toBe(true);
    expect(Math.max(...last) - Math.min(...last)).toBeGreaterThan(250);
  });

  it('report a long Retry-After once for all waiting requests, and no short one', async () => {
    const notices: string[] = [];
    const notice = (text: string) => void notices.push(text);
    const busy = (seconds: string) => () =>
      server.fake.asked.length <= 2
        ? { status: 429, headers: { 'retry-after': seconds }, json: { message: 'Too many requests' } }
        : { json: 1 };
    const read = { method: 'GET', path: '/', safe: 'read' } as const;
    server.fake.handler = busy('4');
    await transport({ notice }).request(read);
    expect(notices).toEqual([]);
    server.fake.asked.length = 0;
    server.fake.handler = busy('7');
    const standing = new TestClock();
    const stop = new AbortController();
    const pace = createPace(() => null, standing);
    const sent = transport({ notice, pace, clock: standing, signal: stop.signal });
    const asked = Promise.allSettled([sent.request(read), sent.request(read)]);
    await until(() => standing.pauses.length === 2);
    stop.abort();
    await asked;
    expect(notices).toEqual([`${server.fake.url} answers 429 and asks to wait: 7 s`]);
  });

  it('send no request until a used-up limit is reset', async () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' };
    server.fake.handler = () => ({ json: 1, ...(server.fake.asked.length === 1 ? { headers } : {}) });
    const sent = transport();
    await sent.request({ method: 'GET', path: '/', safe: 'read' });
    expect(server.clock.pauses).toEqual([]);
    await sent.request({ method: 'GET', path: '/', safe: 'read' });
    expect(server.clock.pauses.reduce((sum, ms) => sum + ms, 0)).toBe(9_000);
  });

  it.each([
    ['4', []],
    ['40', ['limits how often it is asked; the next request waits: 40 s']],
  ])(
    'report once that a used-up limit delays the next requests, when the delay is long: %s s',
    async (reset, expected) => {
      const notices: string[] = [];
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
      server.fake.handler = () => ({ json: 1, ...(server.fake.asked.length === 1 ? { headers } : {}) });
      const standing = new TestClock();
      const stop = new AbortController();
      const pace = createPace(() => null, standing);
      const sent = transport({ notice: (text) => void notices.push(text), pace, clock: standing, signal: stop.signal });
      const read = { method: 'GET', path: '/', safe: 'read' } as const;
      await sent.request(read);
      expect(notices).toEqual([]);
      const asked = Promise.allSettled([sent.request(read), sent.request(read)]);
      await until(() => standing.pauses.length === 2);
      stop.abort();
      await asked;
      expect(notices).toEqual(expected.map((text) => `${server.fake.url} ${text}`));
    },
  );

  it('do not wait for a daily quota', async () => {
    server.fake.handler = () => ({
      status: 429,
      json: { detail: { code: 'daily_conversation_limit_reached', message: 'limit of today reached' } },
    });
    const error = await failure(transport().request({ method: 'POST', path: '/', safe: 'once' }));
    expect(error.message).toContain('limit of today reached');
    expect(server.fake.asked).toHaveLength(1);
  });

  it('do not repeat a create that was cut: its outcome is unknown', async () => {
    server.fake.handler = () => ({ cut: true });
    const error = await failure(transport().request({ method: 'POST', path: '/api/v1/sandboxes', safe: 'once' }));
    expect([error.kind, error.exitCode]).toEqual(['unknown-outcome', 11]);
    expect(server.fake.asked).toHaveLength(1);
  });

  it('do not repeat a create on 502, 503 and 504, but repeat it on 429', async () => {
    for (const status of [502, 503, 504]) {
      server.fake.asked.length = 0;
      server.fake.handler = () => ({ status, json: { detail: 'no' } });
      await failure(transport().request({ method: 'POST', path: '/', safe: 'once' }));
      expect(server.fake.asked).toHaveLength(1);
    }
    server.fake.asked.length = 0;
    server.fake.handler = () => (server.fake.asked.length < 2 ? { status: 429, json: {} } : { json: 'made' });
    expect((await transport().request({ method: 'POST', path: '/', safe: 'once' })).body).toBe('made');
  });
});

describe('the pace', () => {
  const waitsOf = async (limit: PaceLimit | null, turns: number): Promise<number> => {
    const pace = createPace(() => limit, server.clock);
    for (let turn = 0; turn < turns; turn++) await pace.turn(new AbortController().signal);
    return server.clock.pauses.length;
  };

  it('allows a burst and then spaces requests', async () => {
    expect(await waitsOf({ perSecond: 8, burst: 10 }, 10)).toBe(0);
    expect(await waitsOf({ perSecond: 8, burst: 10 }, 14)).toBeGreaterThanOrEqual(3);
  });

  it('does not limit the local service', async () => {
    expect(await waitsOf(null, 500)).toBe(0);
  });
});

describe('proxies', () => {
  it('are used for other hosts, and never for loopback', async () => {
    const targets: string[] = [];
    const proxy = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data) => {
        targets.push(String(data).split('\r\n')[0] ?? '');
        socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as net.AddressInfo;
    const proxied = createNetwork({
      env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
      connectTimeoutMs: 5_000,
      redaction: createRedaction([]),
    });
    await failure(
      transport({ network: proxied, baseUrl: 'http://server.invalid' }).request({
        method: 'POST',
        path: '/x',
        safe: 'once',
      }),
    );
    expect(targets[0]).toContain('server.invalid');
    expect((await transport({ network: proxied }).request({ method: 'GET', path: '/', safe: 'read' })).body).toEqual({
      ok: true,
    });
    expect(targets).toHaveLength(1);
    await proxied.close();
    await new Promise((resolve) => proxy.close(resolve));
  });

  it.each(['http://server.invalid', 'https://server.invalid'])(
    'are named when they do not listen, for %s',
    async (baseUrl) => {
      const proxied = createNetwork({
        env: { HTTP_PROXY: `http://${NOBODY}` },
        connectTimeoutMs: 5_000,
        redaction: createRedaction([]),
      });
      const error = await failure(
        transport({ network: proxied, baseUrl }).request({ method: 'GET', path: '/x', safe: 'read' }),
      );
      await proxied.close();
      expect(error).toMatchObject({
        kind: 'network',
        message: `nothing listens at the proxy ${NOBODY} (connection refused)`,
        details: { hint: 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY' },
      });
    },
  );
});
