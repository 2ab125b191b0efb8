import { describe, expect, it } from 'vitest';
import { appOfSuite, createTestApp, KEY } from './support.ts';

const app = appOfSuite();

describe('the app server', () => {
  it.each([
    ['v0', '/api/v1/web-client/config', '/api/options/config'],
    ['v1', '/api/options/config', '/api/v1/web-client/config'],
  ] as const)('lists only the routes of %s with --api', async (api, absent, present) => {
    const one = await createTestApp({ api });
    try {
      expect((await one.call('GET', absent)).status).toBe(404);
      expect((await one.call('GET', present)).body).toHaveProperty(
        api === 'v0' ? 'APP_MODE' : 'app_mode',
        'oss',
      );
      const { paths } = (await one.call('GET', '/openapi.json')).body as {
        paths: Record<string, unknown>;
      };
      const named = (prefix: string) => Object.keys(paths).some((path) => path.startsWith(prefix));
      expect([
        named('/api/v1/'),
        named('/api/shared-'),
        '/api/conversations' in paths,
        '/local/activity' in paths,
      ]).toEqual([api === 'v1', api === 'v1', api === 'v0', true]);
    } finally {
      await one.close();
    }
  });

  it('sends a document with the release of the service and the features that no route shows', async () => {
    const { info, paths } = await app.get<{
      info: object;
      paths: Record<string, Record<string, unknown>>;
    }>('/openapi.json');
    expect(info).toMatchObject({
      title: 'acs local service',
      version: '0.0.0-test',
      'x-features': { 'exec-socket': true },
    });
    expect(Object.keys(paths['/api/v1/app-conversations'] ?? {}).sort()).toEqual(['get', 'post']);
  });
});

describe('the guard of the app server', () => {
  const count = '/api/v1/app-conversations/count';
  const own = { 'X-Session-API-Key': KEY };
  const wrong = KEY.replace(/.$/, '#');
  it.each<[what: string, path: string, headers: Record<string, string>, status: number]>([
    ['the key in its own header', count, own, 200],
    ['the key as a bearer token', count, { Authorization: `Bearer ${KEY}` }, 200],
    ['no key', count, {}, 401],
    ['no key, over V0', '/api/settings', {}, 401],
    ['a longer key', count, { 'X-Session-API-Key': `${KEY}x` }, 401],
    ['a wrong key of the right length', count, { 'X-Session-API-Key': wrong }, 401],
    ['a wrong bearer token', count, { Authorization: `Bearer ${wrong}` }, 401],
    ['the key in the query', `${count}?session_api_key=${KEY}`, {}, 401],
    ['a probe without a key', '/openapi.json', {}, 200],
    ['a probe of V1 without a key', '/api/v1/web-client/config', {}, 200],
    ['a foreign host name', '/openapi.json', { Host: 'evil.example:3000' }, 403],
    ['the name localhost', '/openapi.json', { Host: 'localhost:3000' }, 200],
    ['an address of this machine', '/openapi.json', { Host: '[::1]:3000' }, 200],
    ...['https://evil.example', 'null', 'http://203.0.113.7', 'http://[2001:db8::1]:80'].map(
      (Origin): [string, string, Record<string, string>, number] => [
        Origin,
        count,
        { ...own, Origin },
        403,
      ],
    ),
    ...['http://127.0.0.1:5173', 'http://localhost:5173'].map(
      (Origin): [string, string, Record<string, string>, number] => [
        Origin,
        count,
        { ...own, Origin },
        200,
      ],
    ),
  ])('answers a request with %s at %s', async (_, path, headers, status) => {
    const answer = await app.call('GET', path, undefined, headers);
    expect(answer.status).toBe(status);
    if (status === 401) expect(answer.body).toEqual({ detail: 'Unauthorized' });
  });
});
