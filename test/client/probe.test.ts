/**
 * What a server is, found by requests: every kind of server that a URL may lead to (interface 9).
 */
import { getEventListeners } from 'node:events';
import { rm } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, startFake, type Asked, type Reply } from '../support/server.ts';
import { TestClock } from '../support/test-clock.ts';
import { KEY, useWorld } from '../support/use-world.ts';
import { connectTo, failure } from './support/client.ts';
import { recordings } from './support/v1-server.ts';

const newer = recordings('1.11.0');
const older = recordings('1.6.0');
const LIST = '/api/v1/app-conversations/search';
const V1_ONLY: Record<string, Reply> = {
  '/openapi.json': newer.reply('probe.openapi'),
  '/api/v1/web-client/config': newer.reply('probe.web-client'),
  '/api/v1/app-conversations/count': { json: 0 },
  [LIST]: { json: { items: [], next_page_id: null } },
  '/api/v1/users/me': { json: { id: null } },
};
const V0_ONLY: Record<string, Reply> = {
  '/api/options/config': older.reply('probe.options-config'),
  '/api/conversations': { json: { results: [], next_page_id: null } },
};
const V0_AND_V1: Record<string, Reply> = {
  ...V1_ONLY,
  ...V0_ONLY,
  '/openapi.json': older.reply('probe.openapi'),
  '/api/v1/web-client/config': older.reply('probe.web-client'),
};
const V0_DOCUMENT: Reply = { json: { paths: { '/api/conversations': { get: {} } } } };
const AGENT: Reply = {
  json: {
    info: { title: 'OpenHands Agent Server', version: '0.1.0' },
    paths: { '/api/conversations': {} },
  },
};
const PAGE: Reply = { text: '<!doctype html><title>app</title>', type: 'text/html' };
const BROKEN: Reply = { status: 502, text: 'bad gateway', type: 'text/html' };

const at = useWorld({ script: () => NOT_FOUND });
beforeEach(() => rm(at.configDir, { recursive: true, force: true }));

/** Answers by path; those of `/api/` require the key. */
function serve(byPath: Record<string, Reply>, otherwise: Reply = NOT_FOUND): void {
  at.server.handler = ({ path, headers }: Asked): Reply => {
    const reply = byPath[path];
    if (reply === undefined) return otherwise;
    const isOpen = path === '/openapi.json' || path === '/api/v1/web-client/config';
    return isOpen || headers['x-session-api-key'] === KEY
      ? reply
      : { status: 401, json: { detail: 'Unauthorized' } };
  };
}

describe('whoami shows the dialects, version and flavour of', () => {
  const { '/openapi.json': _document, ...hidden } = V1_ONLY;
  const ofCloud = { ...hidden, '/api/v1/web-client/config': { json: { app_mode: 'saas' } } };
  const ofLocal: Reply = {
    json: {
      info: { title: 'acs local service', version: '0.1.0' },
      paths: { '/api/v1/app-conversations': { post: {} }, '/api/conversations': {} },
    },
  };
  it.each<[string, Record<string, Reply>, Reply, object]>([
    [
      'a server that speaks V1 only',
      V1_ONLY,
      NOT_FOUND,
      {
        dialect: 'v1',
        dialects: ['v1'],
        version: '1.11.0',
        flavour: 'self-hosted',
        features: expect.arrayContaining([
          'send-message',
          'delete-conversation',
          'v1-settings',
          'model-profiles',
        ]),
        // The recorded document does not list the members of a start.
        unknown_features: expect.arrayContaining(['replay']),
      },
    ],
    [
      'a server that speaks V0 and V1',
      V0_AND_V1,
      NOT_FOUND,
      {
        dialect: 'v1',
        dialects: ['v1', 'v0'],
        version: '1.6.0',
        flavour: 'self-hosted',
        features: expect.arrayContaining(['replay']),
        unknown_features: expect.not.arrayContaining(['send-message']),
      },
    ],
    [
      'a server that speaks V0 only',
      V0_ONLY,
      NOT_FOUND,
      { dialect: 'v0', dialects: ['v0'], version: null },
    ],
    ['a V0 server whose web page answers every unknown path', V0_ONLY, PAGE, { dialects: ['v0'] }],
    [
      'a V1 server whose web page answers every unknown path',
      hidden,
      PAGE,
      { dialects: ['v1'], version: null },
    ],
    ['the cloud, by its reported mode', ofCloud, NOT_FOUND, { dialects: ['v1'], flavour: 'cloud' }],
    [
      'the local service, by the title of its document',
      { ...V0_AND_V1, '/openapi.json': ofLocal },
      NOT_FOUND,
      { flavour: 'local', dialects: ['v1', 'v0'], version: null },
    ],
  ])('%s', async (_, byPath, otherwise, out) => {
    serve(byPath, otherwise);
    await at.ends('whoami --json', { out, err: '' });
    expect(at.server.asked[0]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'x-session-api-key': KEY,
    });
  });

  it('a server on a terminal, each fact in a row of its own and no features', async () => {
    serve(V1_ONLY);
    const { out } = await at.ends('whoami', { columns: 100, env: { NO_COLOR: '1' } });
    expect(out).toMatch(/^dialect +v1\ndialects +v1\nversion +1\.11\.0$/m);
    expect(out).not.toContain('send-message');
  });
});

describe('a key', () => {
  it.each([
    ['V1 only', V1_ONLY],
    ['V0 and V1', V0_AND_V1],
    ['V0 only', V0_ONLY],
  ])(
    'that is missing or wrong exits 4 with a message of its own, at a server that speaks %s',
    async (_, byPath) => {
      serve(byPath);
      const hint = 'or a profile: acs login';
      const missing = ['the server requires an API key', '--api-key-file', hint];
      await at.ends('whoami', { code: 4, out: '', err: missing, env: { ACS_API_KEY: undefined } });
      const env = { ACS_API_KEY: 'wrong-key-0123456789' };
      await at.ends('whoami --debug', {
        code: 4,
        out: '',
        err: ['refuses the key', hint],
        hides: /wrong-key/,
        env,
      });
    },
  );

  it('with a character that no header can carry exits 3, is not printed, and nothing is sent', async () => {
    const err = 'a key is one line of ASCII letters, digits and punctuation';
    await at.ends('whoami', {
      code: 3,
      err,
      hides: 'zwei',
      env: { ACS_API_KEY: 'geheim\nzwei' },
      requests: 0,
    });
  });

  it('that still works is not named by the error of a 403', async () => {
    serve(V1_ONLY);
    const detail = 'Not a member of this organization';
    at.script({ [LIST]: { status: 403, json: { detail } } });
    await at.ends('conv list', {
      code: 4,
      err: `error: the server does not allow this: ${detail}`,
    });
  });
});

describe('a URL that is no app server', () => {
  it.each<[string, Reply, number, string[]]>([
    ['exits 9 when it is a web page', PAGE, 9, ['text/html', 'is this the right server?']],
    [
      'exits 9 when it answers other JSON',
      { json: { hello: 'world' } },
      9,
      ['(it sent application/json)'],
    ],
    [
      'exits 9 when it fails at everything',
      { status: 500, json: {} },
      9,
      ['500 to every request that would identify'],
    ],
  ])('%s', async (_, reply, code, err) => {
    const isJson = 'json' in reply && reply.status === undefined;
    serve({ '/openapi.json': reply }, isJson ? NOT_FOUND : reply);
    await at.ends('whoami', { code, out: '', err });
  });

  it.each<[string, Record<string, Reply>]>([
    [
      'its document and a release before 1.28',
      { '/openapi.json': AGENT, '/server_info': { json: { version: '1.27.3' } } },
    ],
    [
      '/server_info of the local service',
      { '/server_info': { json: { title: 'Agent server of the local service' } } },
    ],
  ])(
    'exits 12 where it is an agent server by %s, which acs api sends requests to',
    async (_, byPath) => {
      serve({ ...byPath, '/api/tools/': { json: ['terminal'] } });
      const ending = {
        code: 12,
        out: '',
        err: 'the URL is that of an agent server in a sandbox, not of an app server',
      };
      for (const line of ['whoami', 'conv list', `login box --base-url ${at.server.url}`])
        await at.ends(line, ending);
      await at.ends('api GET /api/tools/', { out: '["terminal"]' });
      await at.ends(`api GET ${at.server.url}/api/tools/`, { out: '["terminal"]' });
    },
  );

  it.each<[string, Record<string, Reply>]>([
    ['its document alone', { '/openapi.json': AGENT }],
    [
      '/server_info of 1.28',
      { '/server_info': { json: { title: 'OpenHands Agent Server', version: '1.28.0' } } },
    ],
  ])('has dialect agent where it is an agent server by %s', async (_, byPath) => {
    const page = { items: [], next_page_id: null };
    serve({
      ...byPath,
      '/api/conversations/search': { json: page },
      '/api/conversations/count': { json: 0 },
    });
    await at.ends('conv list --json --jq .items', { out: '[]\n' });
    await at.ends('whoami --json --jq .dialect', { out: 'agent\n' });
  });

  it.each([
    ['http://127.0.0.1:1', 10],
    ['acs.example:3000', 2],
    ['not a url', 2],
  ])('%s exits %i', async (url, code) => {
    await at.ends(['whoami', '--base-url', url], { code, requests: 0 });
  });

  it.each([
    [429, 7],
    [503, 9],
  ])(
    'is distinguished from a server that answers %i for a while, exit %i',
    async (status, code) => {
      const busy: Reply = {
        status,
        json: { message: 'Too busy' },
        headers: { 'retry-after': '1' },
      };
      at.server.handler = ({ path }) => (path === '/openapi.json' ? NOT_FOUND : busy);
      await at.ends('whoami', { code, err: 'Too busy' });
      expect(at.server.lines().filter((line) => line.endsWith('/count'))).toHaveLength(4);
      at.server.asked.length = 0;
      serve(V1_ONLY);
      at.script(() => (at.server.asked.length <= 4 ? busy : null));
      await at.ends('whoami --json', { out: { version: '1.11.0' } });
    },
  );
});

describe('the cached probe of a server', () => {
  const list = async (): Promise<string[]> => {
    at.server.asked.length = 0;
    await at.ends('conv list', {});
    return at.server.lines();
  };

  it('lets the next command send one request', async () => {
    serve(V1_ONLY);
    await list();
    expect(await list()).toEqual([`GET ${LIST}`]);
  });

  it.each<[string, Reply]>([
    ['a gateway answers for it', BROKEN],
    ['the connection is cut', { cut: true }],
    ...[401, 403, 404, 405].map((status): [string, Reply] => [
      `it is ${status}`,
      { status, json: { detail: 'no' } },
    ]),
  ])('needs a document: the next command requests it again where %s', async (_, document) => {
    serve({ ...V1_ONLY, '/openapi.json': document });
    const { out } = await at.ends('whoami --json', { out: { version: null } });
    expect(out).toContain('demo-replay');
    serve(V1_ONLY);
    await at.ends('whoami --json', { out: { version: '1.11.0' }, hides: 'demo-replay' });
  });

  it('puts one listener on the signal of the command for each request that it has sent', async () => {
    const { signal } = new AbortController();
    const counts: number[] = [];
    serve(V1_ONLY);
    at.script(() => {
      counts.push(getEventListeners(signal, 'abort').length);
      return null;
    });
    await at.ends('conv list', { signal });
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('expires after a day', async () => {
    serve(V1_ONLY);
    await list();
    const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() + 25 * 3_600_000 });
    at.server.asked.length = 0;
    await at.ends('conv list', { clock });
    expect(at.server.lines()).toContain('GET /openapi.json');
  });

  it.each<[string, Record<string, Reply>, Record<string, Reply>]>([
    ['V0 and V1, now V1 only', V0_AND_V1, V1_ONLY],
    ['V0 only, now V1 only', { ...V0_ONLY, '/openapi.json': V0_DOCUMENT }, V1_ONLY],
    ['V1 only, now V0 only without a document', V1_ONLY, V0_ONLY],
  ])('is read again, once, and dropped when a route is missing: %s', async (_, before, now) => {
    serve(before);
    await list();
    serve(now);
    at.server.asked.length = 0;
    const err = /has changed since acs last read its features.*run the command again/;
    await at.ends('conv list --json', { code: 9, out: '', err });
    expect(at.server.lines().filter((line) => line === 'GET /openapi.json')).toHaveLength(1);
    await list();
  });

  it('is dropped, and the answer taken literally, when the new probe has no document', async () => {
    serve(V1_ONLY);
    await list();
    serve({ ...V1_ONLY, '/openapi.json': BROKEN, [LIST]: NOT_FOUND });
    await at.ends('conv list', { code: 5, err: 'Not Found' });
    serve(V1_ONLY);
    expect(await list()).toContain('GET /openapi.json');
  });

  it('is stored per origin', async () => {
    serve(V1_ONLY);
    await list();
    const other = await startFake(({ path }) => V0_ONLY[path] ?? NOT_FOUND);
    try {
      await at.ends('whoami --json', {
        out: { dialects: ['v0'] },
        env: { ACS_BASE_URL: other.url },
      });
    } finally {
      await other.close();
    }
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
    at.server.handler = () => {
      if (at.server.asked.length >= 4) resolve();
      return { silence: true };
    };
    let hasEnded = false;
    const ended = failure(connectTo(at.server.url, { clock, requestTimeoutMs })).finally(
      () => (hasEnded = true),
    );
    await isAsked;
    await clock.pass(longestMs - 1);
    expect(hasEnded).toBe(false);
    await clock.pass(1);
    const message = `${at.server.url} did not complete a response within ${longestMs / 1000} s`;
    expect(await ended).toMatchObject({ kind: 'network', message });
  });
});
