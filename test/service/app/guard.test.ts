import { describe, expect, it } from 'vitest';
import { appOfSuite, KEY, type TestApp } from './support.ts';

const app = appOfSuite();

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
});
