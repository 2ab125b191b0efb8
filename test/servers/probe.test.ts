import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectTo } from './support/connect.ts';
import { TestClock } from '../support/test-clock.ts';
import { failure } from './support/failure.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from './support/fake-server.ts';
import { recordings } from './support/recordings.ts';

const newer = recordings('1.11.0');
const older = recordings('1.6.0');
const KEY = 'app-key-0123456789';
let fake: FakeServer;

beforeEach(async () => {
  fake = await startFake(() => NOT_FOUND);
});

afterEach(() => fake.close());

/** Routes by path; a route of `/api/` without the right key is 401. */
function routes(byPath: Record<string, Reply>, open: string[] = ['/openapi.json', '/api/v1/web-client/config']) {
  return ({ path, headers }: Asked): Reply => {
    const reply = byPath[path];
    if (reply === undefined) return NOT_FOUND;
    return open.includes(path) || headers['x-session-api-key'] === KEY
      ? reply
      : { status: 401, json: { detail: 'Unauthorized' } };
  };
}

const RELEASE_1_11 = {
  '/openapi.json': newer.reply('probe.openapi'),
  '/api/v1/web-client/config': newer.reply('probe.web-client'),
  '/api/v1/app-conversations/count': { json: 0 },
  '/api/v1/app-conversations/search': newer.reply('conv.search.limit2'),
};
const RELEASE_1_6 = {
  '/openapi.json': older.reply('probe.openapi'),
  '/api/v1/web-client/config': older.reply('probe.web-client'),
  '/api/v1/app-conversations/count': { json: 0 },
  '/api/options/config': older.reply('probe.options-config'),
};

describe('the probe', () => {
  it('finds a server of V1 only, with its release, flavour and features', async () => {
    fake.handler = routes(RELEASE_1_11);
    const server = await connectTo(fake.url);
    expect(server.info).toMatchObject({
      base_url: fake.url,
      dialect: 'v1',
      dialects: ['v1'],
      version: '1.11.0',
      flavour: 'self-hosted',
    });
    for (const feature of ['send-message', 'delete-conversation', 'v1-settings', 'sandboxes'] as const)
      expect(server.presence(feature)).toBe('present');
    // The recorded document does not list the members of a start.
    expect(server.presence('replay')).toBe('unknown');
    await server.close();
  });

  it('finds both dialects, and the features that the release lacks', async () => {
    fake.handler = routes(RELEASE_1_6);
    const server = await connectTo(fake.url);
    expect(server.info).toMatchObject({ dialect: 'v1', dialects: ['v1', 'v0'], version: '1.6.0' });
    expect([
      server.presence('replay'),
      server.presence('send-message'),
      server.presence('v1-settings'),
      server.presence('delete-conversation'),
    ]).toEqual(['present', 'absent', 'absent', 'absent']);
    await server.close();
  });

  it('finds a server of V0 only when nothing but its options answers', async () => {
    fake.handler = routes({ '/api/options/config': older.reply('probe.options-config') });
    const server = await connectTo(fake.url);
    expect(server.info).toMatchObject({ dialect: 'v0', dialects: ['v0'], version: null });
    expect((await failure(server.sandboxes.list(null))).kind).toBe('unsupported');
    await server.close();
  });

  it('finds V1 without a document, and the cloud by its reported mode', async () => {
    fake.handler = routes({
      '/api/v1/web-client/config': { json: { app_mode: 'saas', feature_flags: { deployment_mode: 'cloud' } } },
      '/api/v1/app-conversations/count': { json: 3 },
    });
    const server = await connectTo(fake.url);
    expect(server.info).toMatchObject({ dialects: ['v1'], flavour: 'cloud' });
    await server.close();
  });

  it('finds the local service by the title of its document', async () => {
    const document = {
      info: { title: 'acs local service', version: '0.1.0' },
      paths: { '/api/v1/app-conversations': { post: {} }, '/api/conversations': {} },
    };
    fake.handler = routes({ '/openapi.json': { json: document }, '/api/v1/app-conversations/count': { json: 0 } });
    const server = await connectTo(fake.url);
    expect(server.info).toMatchObject({ flavour: 'local', dialects: ['v1', 'v0'], version: null });
    await server.close();
  });

  it('sends the key in both headers', async () => {
    fake.handler = routes(RELEASE_1_11);
    await (await connectTo(fake.url)).close();
    expect(fake.asked[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-session-api-key': KEY });
  });
});

describe('a probe that fails', () => {
  it('distinguishes a missing key from a refused one', async () => {
    fake.handler = routes(RELEASE_1_11);
    const missing = await failure(connectTo(fake.url, { key: null }));
    expect([missing.kind, missing.message]).toEqual(['auth', 'this server asks for a key, and none was given']);
    expect(missing.details.hint).toContain('--api-key-file');
    const refused = await failure(connectTo(fake.url, { key: 'another-key' }));
    expect([refused.kind, refused.message]).toEqual(['auth', 'the server refuses the key']);
    for (const { details } of [missing, refused]) {
      expect(details.hint).toContain('or a profile: acs login');
      expect(details.request).toEqual({ method: 'GET', url: expect.stringContaining(fake.url) as string });
    }
  });

  it('suggests checking the URL when a web page answers', async () => {
    fake.handler = () => ({ text: '<html><body>hello</body></html>', type: 'text/html' });
    const error = await failure(connectTo(fake.url));
    expect([error.kind, error.exitCode]).toEqual(['server', 9]);
    expect(error.message).toContain('text/html');
    expect(error.details.hint).toContain('is this the right server?');
    expect(error.details.request).toEqual({ method: 'GET', url: `${fake.url}/openapi.json` });
  });

  it('reports a server that answers other JSON', async () => {
    const error = await failure(connectTo(fake.url));
    expect([error.kind, error.message]).toEqual([
      'server',
      'the server at this URL is not an OpenHands server (it sent application/json)',
    ]);
  });

  it.each([
    [429, 'rate-limited', 7],
    [503, 'server', 9],
  ] as const)(
    'tries again after %i, and distinguishes a lasting one from a server that is not OpenHands',
    async (status, kind, code) => {
      fake.handler = ({ path }) => (path === '/openapi.json' ? NOT_FOUND : { status, json: { message: 'Too busy' } });
      const error = await failure(connectTo(fake.url));
      expect([error.kind, error.exitCode, error.details.status]).toEqual([kind, code, status]);
      expect(error.message).toContain('Too busy');
      expect(fake.lines().filter((line) => line.endsWith('/count'))).toHaveLength(4);

      fake.asked.length = 0;
      const usual = routes(RELEASE_1_11);
      fake.handler = (asked) =>
        fake.asked.length <= 4
          ? { status, json: { message: 'Too busy' }, headers: { 'retry-after': '1' } }
          : usual(asked);
      const server = await connectTo(fake.url);
      expect(server.info.version).toBe('1.11.0');
      await server.close();
    },
  );

  it('is a network error when nothing answers', async () => {
    // None of the ports that the system gives out.
    expect((await failure(connectTo('http://127.0.0.1:1'))).kind).toBe('network');
  });

  it('refuses a URL and a key that cannot be used, and never shows the key', async () => {
    expect((await failure(connectTo('localhost:3000'))).kind).toBe('config');
    expect((await failure(connectTo('not a url'))).kind).toBe('config');
    const error = await failure(connectTo(fake.url, { key: 'geheim\nzwei' }));
    expect([error.kind, error.message]).toEqual([
      'config',
      'the key has a character at position 7 that no HTTP header can carry',
    ]);
    expect(fake.asked).toEqual([]);
  });
});

describe('a cached probe', () => {
  function memory() {
    const kept = new Map<string, unknown>();
    return {
      kept,
      get: (origin: string) => Promise.resolve(kept.get(origin) ?? null),
      set: (origin: string, value: unknown) => Promise.resolve(void kept.set(origin, value)),
      drop: (origin: string) => Promise.resolve(void kept.delete(origin)),
    };
  }

  it('reduces a list to one request', async () => {
    fake.handler = routes(RELEASE_1_11);
    const cache = memory();
    await (await connectTo(fake.url, { cache })).close();
    fake.asked.length = 0;
    const server = await connectTo(fake.url, { cache });
    await server.conversations.list({ pageSize: 2 }, null);
    expect(fake.lines()).toEqual(['GET /api/v1/app-conversations/search']);
    await server.close();
  });

  it('is not stored when the document could not be read', async () => {
    const cache = memory();
    for (const document of [{ status: 502, text: 'bad gateway', type: 'text/html' }, { cut: true }] as Reply[]) {
      fake.handler = routes({ ...RELEASE_1_11, '/openapi.json': document });
      await (await connectTo(fake.url, { cache })).close();
      expect(cache.kept.size).toBe(0);
    }
    fake.handler = routes({ ...RELEASE_1_11, '/openapi.json': NOT_FOUND });
    await (await connectTo(fake.url, { cache })).close();
    expect(cache.kept.size).toBe(1);
  });

  it('is deleted when a route of it is missing', async () => {
    fake.handler = routes(RELEASE_1_11);
    const cache = memory();
    const server = await connectTo(fake.url, { cache });
    expect(cache.kept.size).toBe(1);
    fake.handler = () => NOT_FOUND;
    await failure(server.conversations.list({}, null));
    expect(cache.kept.size).toBe(0);
    await server.close();
  });
});

describe('a 401 after the probe', () => {
  it('does not name the key when the key still works', async () => {
    fake.handler = routes(RELEASE_1_11);
    const server = await connectTo(fake.url);
    const usual = fake.handler;
    fake.handler = (asked) =>
      asked.path.endsWith('/search')
        ? { status: 403, json: { detail: 'Not a member of this organization' } }
        : usual(asked);
    const error = await failure(server.conversations.list({}, null));
    expect([error.kind, error.message]).toEqual([
      'auth',
      'the server does not allow this: Not a member of this organization',
    ]);
    await server.close();
  });
});

describe('the time limit of the whole probe', () => {
  it.each([
    ['60 s where the request time-out is 20 s', 20_000, 60_000],
    ['twice the request time-out where that is 45 s', 45_000, 90_000],
  ])('is %s', async (_, requestTimeoutMs, longestMs) => {
    const clock = new TestClock();
    let resolve = (): void => undefined;
    const isAsked = new Promise<void>((done) => (resolve = done));
    fake.handler = () => {
      if (fake.asked.length >= 4) resolve();
      return { silence: true };
    };
    let hasEnded = false;
    const ended = failure(connectTo(fake.url, { clock, requestTimeoutMs })).finally(() => (hasEnded = true));
    await isAsked;
    await clock.pass(longestMs - 1);
    expect(hasEnded).toBe(false);
    await clock.pass(1);
    expect(await ended).toMatchObject({
      kind: 'network',
      message: `${fake.url} did not complete a response within ${longestMs / 1000} s`,
    });
  });
});
