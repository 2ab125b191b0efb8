import { describe, expect, it } from 'vitest';
import { json, refuse } from '../../../src/service/http/answer.ts';
import { createRouter, type RouterOptions } from '../../../src/service/http/router.ts';
import { route, type Route } from '../../../src/service/http/route.ts';
import { isKey } from '../../../src/service/http/guard.ts';

describe('a router', () => {
  const lines: string[] = [];
  const options: RouterOptions = {
    host: 'service.example',
    key: 'the-key',
    acceptsBearer: false,
    maxBodyBytes: 10,
    faults: () => null,
    onBegin: () => undefined,
    errorOf: (error) => (error.message === 'known' ? refuse(418, 'known') : null),
    log: (line) => lines.push(line),
  };
  const fail = (message: string, code?: string) => () => {
    throw Object.assign(new Error(message), { code });
  };
  const declared = { callers: '', answers: {} };
  const routes: Route<null>[] = [
    route('GET /one/{id}', { ...declared, handle: () => 'one' }),
    route('POST /one/{id}', { ...declared, handle: () => 'post' }),
    route('GET /files/{path:path}', { ...declared, handle: () => json('file') }),
    route('GET /slash/', { ...declared, handle: () => 'slash' }),
    route('GET /fails', { ...declared, handle: fail('secret detail') }),
    route('GET /known', { ...declared, handle: fail('known') }),
    route('GET /full', { ...declared, handle: fail('no space', 'ENOSPC') }),
    route('GET /refused', {
      ...declared,
      handle() {
        throw refuse(409, 'refused');
      },
    }),
  ];
  const ask = async (
    path: string,
    headers: Record<string, string> = {},
    more: Partial<RouterOptions> = {},
  ) => {
    const app = createRouter(routes, null, { ...options, ...more });
    const answer = await app.request(`http://127.0.0.1${path}`, {
      headers: { 'X-Session-API-Key': 'the-key', ...headers },
    });
    const text = await answer.text();
    return [
      answer.status,
      text === '' ? answer.headers.get('location') : (JSON.parse(text) as unknown),
    ];
  };

  it.each([
    ['/one/1', [200, 'one']],
    ['/one/1/2', [404, { detail: 'Not Found' }]],
    ['/one/', [404, { detail: 'Not Found' }]],
    ['/files/a/b/c', [200, 'file']],
    ['/files/a/line%0Abreak', [200, 'file']],
    ['/one/1/?q=1', [307, '/one/1?q=1']],
    ['/slash?q=1', [307, '/slash/?q=1']],
    ['//one/1/', [404, { detail: 'Not Found' }]],
    ['/refused', [409, { detail: 'refused' }]],
    ['/known', [418, { detail: 'known' }]],
    ['/full', [507, { detail: 'The disk of the data directory is full; nothing was stored.' }]],
  ])('answers %s with %j', async (path, answer) => {
    expect(await ask(path)).toEqual(answer);
  });

  it('answers 405 to another method, with those that the path has, and to HEAD', async () => {
    const send = (method: string) =>
      createRouter(routes, null, options).request('http://127.0.0.1/one/1', { method });
    const answer = await send('DELETE');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect(await answer.json()).toEqual({ detail: 'Method Not Allowed' });
    expect((await send('HEAD')).status).toBe(405);
  });

  it('answers 404 to an unknown path, also without the key', async () => {
    expect(await ask('/nothing', { 'X-Session-API-Key': '' })).toEqual([
      404,
      { detail: 'Not Found' },
    ]);
  });

  it('logs an error that it does not know, and does not show it', async () => {
    lines.length = 0;
    expect(await ask('/fails')).toEqual([500, { detail: 'Internal Server Error' }]);
    expect(lines).toEqual([expect.stringContaining('secret detail')]);
  });

  it('accepts the key as a bearer token only where that is allowed', async () => {
    const headers = { 'X-Session-API-Key': 'wrong', Authorization: 'Bearer the-key' };
    expect(await ask('/one/1', headers)).toEqual([401, { detail: 'Unauthorized' }]);
    expect(await ask('/one/1', headers, { acceptsBearer: true })).toEqual([200, 'one']);
  });

  it('lets the check of its access decide who may call a route, with or without the key', async () => {
    const guarded = [
      route('GET /own/{id}', { ...declared, access: 'sandboxKey', handle: () => 1 }),
    ];
    const app = createRouter(guarded, null, {
      ...options,
      access: {
        sandboxKey(_, c) {
          if (c.req.param('id') === 'b') throw refuse(403, 'no');
          return c.req.param('id') === 'a' ? null : json('other', 303);
        },
      },
    });
    const headers = { 'X-Session-API-Key': 'the-key' };
    const status = async (path: string) => (await app.request(path, { headers })).status;
    expect([await status('/own/a'), await status('/own/b'), await status('/own/c')]).toEqual([
      200, 403, 303,
    ]);
    expect(() => createRouter(guarded, null, options)).toThrow("no check for access 'sandboxKey'");
  });

  it('reports the begin and the end of each request, also of one that is refused', async () => {
    const seen: string[] = [];
    const counted = { onBegin: (path: string) => seen.push(path), onEnd: () => seen.push('end') };
    await ask('/fails', {}, counted);
    await ask('/one/1', { Host: 'evil.example' }, counted);
    await ask('/nothing', { 'X-Session-API-Key': '' }, counted);
    expect(seen).toEqual(['/fails', 'end', '/one/1', 'end', '/nothing', 'end']);
  });
});

describe('the comparison of keys', () => {
  it('accepts the key', () => {
    expect(isKey('0123456789abcdef', '0123456789abcdef')).toBe(true);
    expect(isKey('schlüssel', 'schlüssel')).toBe(true);
  });

  it.each([
    ['another of the same length', '0123456789abcdeg'],
    ['a beginning of it', '0123456789abcde'],
    ['one that begins with it', '0123456789abcdef0'],
    ['one of other case', '0123456789ABCDEF'],
    ['as many characters in more bytes', '0123456789abcdeü'],
    ['an empty one', ''],
    ['none: undefined', undefined],
    ['none: null', null],
  ])('refuses %s', (_, given) => {
    expect(isKey(given, '0123456789abcdef')).toBe(false);
  });

  it.each([undefined, null])(
    'refuses a request without a key although the key is empty: %s',
    (given) => {
      expect(isKey(given, '')).toBe(false);
    },
  );
});
