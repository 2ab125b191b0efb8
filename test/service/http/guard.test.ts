import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, KEY, type TestApp } from '../app/support.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

const status = async (...call: Parameters<TestApp['call']>): Promise<number> => (await app.call(...call)).status;

describe('the guard of the app server', () => {
  it('accepts the key in its own header or as a bearer token, and nowhere else', async () => {
    const path = '/api/v1/app-conversations/count';
    expect(await status('GET', path, undefined, { 'X-Session-API-Key': KEY })).toBe(200);
    expect(await status('GET', path, undefined, { Authorization: `Bearer ${KEY}` })).toBe(200);
    const refused = await app.call('GET', path, undefined, {});
    expect(refused).toMatchObject({ status: 401, body: { detail: 'Unauthorized' } });
    expect(await status('GET', path, undefined, { 'X-Session-API-Key': `${KEY}x` })).toBe(401);
    expect(await status('GET', `${path}?session_api_key=${KEY}`, undefined, {})).toBe(401);
    expect(await status('GET', '/api/options/config', undefined, {})).toBe(401);
    expect(await status('POST', '/api/v1/app-conversations', {}, {})).toBe(401);
  });

  it('refuses a wrong key of the right length', async () => {
    const path = '/api/v1/app-conversations/count';
    const sameLength = KEY.replace(/.$/, '#');
    expect(await status('GET', path, undefined, { 'X-Session-API-Key': sameLength })).toBe(401);
    expect(await status('GET', path, undefined, { Authorization: `Bearer ${sameLength}` })).toBe(401);
  });

  it('answers probes without a key', async () => {
    const probes = ['/openapi.json', '/api/v1/web-client/config'];
    for (const path of probes) expect([path, await status('GET', path, undefined, {})]).toEqual([path, 200]);
  });

  it('refuses a foreign host name and a foreign origin', async () => {
    const withKey = { 'X-Session-API-Key': KEY };
    expect(await status('GET', '/openapi.json', undefined, { Host: 'evil.example:3000' })).toBe(403);
    expect(await status('GET', '/openapi.json', undefined, { Host: 'localhost:3000' })).toBe(200);
    expect(await status('GET', '/openapi.json', undefined, { Host: '[::1]:3000' })).toBe(200);
    const path = '/api/v1/app-conversations/count';
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'https://evil.example' })).toBe(403);
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'null' })).toBe(403);
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'http://203.0.113.7' })).toBe(403);
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'http://[2001:db8::1]:80' })).toBe(403);
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'http://127.0.0.1:5173' })).toBe(200);
    expect(await status('GET', path, undefined, { ...withKey, Origin: 'http://localhost:5173' })).toBe(200);
  });

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

  it('refuses a body that is not JSON, missing or too large, in JSON', async () => {
    const path = '/api/v1/app-conversations';
    const malformed = await app.call('POST', path, '{');
    expect(malformed).toMatchObject({ status: 422, body: { detail: [{ type: 'json_invalid' }] } });
    const missing = await app.call('POST', path);
    expect(missing).toMatchObject({ status: 422, body: { detail: [{ type: 'missing', loc: ['body'] }] } });
    const huge = await app.call('POST', path, JSON.stringify({ replay_json: 'x'.repeat(33 * 1024 * 1024) }));
    expect(huge.status).toBe(413);
  });
});

describe('/openapi.json', () => {
  it('lists the served routes and the members of both create bodies', async () => {
    const { body } = await app.call('GET', '/openapi.json');
    const document = body as {
      paths: Record<string, Record<string, unknown>>;
      components: { schemas: Record<string, { properties: Record<string, unknown> }> };
    };
    expect(Object.keys(document.paths['/api/v1/app-conversations'] ?? {}).sort()).toEqual(['get', 'post']);
    expect(document.paths['/api/conversations/{conversation_id}/trajectory']).toBeDefined();
    const { AppConversationStartRequest: v1, InitSessionRequest: v0 } = document.components.schemas;
    expect(Object.keys(v1?.properties ?? {})).toEqual(expect.arrayContaining(['conversation_id', 'replay_json']));
    expect(Object.keys(v0?.properties ?? {})).toEqual(expect.arrayContaining(['conversation_id', 'replay_json']));
  });

  it.each([
    ['v0', '/api/v1/web-client/config', '/api/options/config'],
    ['v1', '/api/options/config', '/api/v1/web-client/config'],
  ] as const)('lists only the routes of %s with --api', async (api, absent, present) => {
    const one = await createTestApp({ api });
    try {
      expect((await one.call('GET', absent)).status).toBe(404);
      expect((await one.call('GET', present)).status).toBe(200);
      const { paths } = (await one.call('GET', '/openapi.json')).body as { paths: Record<string, unknown> };
      expect(Object.keys(paths).some((path) => path.startsWith('/api/v1/'))).toBe(api === 'v1');
      expect('/api/conversations' in paths).toBe(api === 'v0');
    } finally {
      await one.close();
    }
  });
});
