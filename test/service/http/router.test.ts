import { describe, expect, it } from 'vitest';
import { json, refuse } from '../../../src/service/http/answer.ts';
import { createRouter, type RouterOptions } from '../../../src/service/http/router.ts';
import { appOfSuite, type TestApp } from '../app/support.ts';

const app = appOfSuite();

const status = async (...call: Parameters<TestApp['call']>): Promise<number> => (await app.call(...call)).status;

describe('the router of the app server', () => {
  it('answers 404 to an unknown path, 405 to a wrong method and 307 to a trailing slash', async () => {
    expect(await app.call('GET', '/nothing')).toMatchObject({ status: 404, body: { detail: 'Not Found' } });
    expect(await status('GET', '/api/v1/nothing', undefined, {})).toBe(404);
    const wrong = await app.call('PUT', '/api/v1/app-conversations');
    expect(wrong).toMatchObject({ status: 405, body: { detail: 'Method Not Allowed' } });
    const slash = await app.call('GET', '/api/v1/app-conversations/?ids=x');
    expect([slash.status, slash.headers.get('location')]).toEqual([307, '/api/v1/app-conversations?ids=x']);
    expect(await status('HEAD', '/openapi.json')).toBe(405);
    expect(await status('GET', '//openapi.json/')).toBe(404);
  });
});

describe('a router', () => {
  const lines: string[] = [];
  const options: RouterOptions = {
    host: 'service.example',
    key: 'the-key',
    acceptsBearer: false,
    maxBodyBytes: 10,
    faults: null,
    onBegin: () => undefined,
    errorOf: (error) => (error.message === 'known' ? refuse(418, 'known') : null),
    log: (line) => lines.push(line),
  };
  const fail = (message: string, code?: string) => () => {
    throw Object.assign(new Error(message), { code });
  };
  const handlers = {
    'GET /one/{id}': () => json('one'),
    'POST /one/{id}': () => json('post'),
    'GET /files/{path:path}': () => json('file'),
    'GET /slash/': () => json('slash'),
    'GET /fails': fail('secret detail'),
    'GET /known': fail('known'),
    'GET /full': fail('no space', 'ENOSPC'),
    'GET /refused': () => {
      throw refuse(409, 'refused');
    },
  };
  const ask = async (path: string, headers: Record<string, string> = {}, more: Partial<RouterOptions> = {}) => {
    const app = createRouter(handlers, { ...options, ...more });
    const answer = await app.request(`http://127.0.0.1${path}`, {
      headers: { 'X-Session-API-Key': 'the-key', ...headers },
    });
    const text = await answer.text();
    return [answer.status, text === '' ? answer.headers.get('location') : (JSON.parse(text) as unknown)];
  };

  it.each([
    ['/one/1', [200, 'one']],
    ['/one/1/2', [404, { detail: 'Not Found' }]],
    ['/one/', [404, { detail: 'Not Found' }]],
    ['/files/a/b/c', [200, 'file']],
    ['/one/1/?q=1', [307, '/one/1?q=1']],
    ['/slash?q=1', [307, '/slash/?q=1']],
    ['//one/1/', [404, { detail: 'Not Found' }]],
    ['/refused', [409, { detail: 'refused' }]],
    ['/known', [418, { detail: 'known' }]],
    ['/full', [507, { detail: 'The disk of the data directory is full; nothing was stored.' }]],
  ])('answers %s with %j', async (path, answer) => {
    expect(await ask(path)).toEqual(answer);
  });

  it('names the methods that a path has', async () => {
    const answer = await createRouter(handlers, options).request('http://127.0.0.1/one/1', { method: 'DELETE' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST']);
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

  it('reports the begin and the end of each request, also of one that is refused', async () => {
    const seen: string[] = [];
    const counted = { onBegin: (path: string) => seen.push(path), onEnd: () => seen.push('end') };
    await ask('/fails', {}, counted);
    await ask('/one/1', { Host: 'evil.example' }, counted);
    await ask('/nothing', { 'X-Session-API-Key': '' }, counted);
    expect(seen).toEqual(['/fails', 'end', '/one/1', 'end', '/nothing', 'end']);
  });
});
