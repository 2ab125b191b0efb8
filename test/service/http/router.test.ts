import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, type TestApp } from '../app/support.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

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
