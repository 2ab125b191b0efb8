import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ID, KEY, step } from './support/worker.ts';
import { useSharedWorker } from './support/shared-worker.ts';

const shared = useSharedWorker([step.finish()]);
const { get, post } = shared;
const conversation = `/api/conversations/${ID}`;
const { version: packageVersion } = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8'),
) as { version: string };

describe('the agent server', () => {
  it('refuses every other key, and its own key as a bearer token', async () => {
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    const wrong: Record<string, string>[] = [
      { 'X-Session-API-Key': 'wrong' },
      { 'X-Session-API-Key': KEY.replace(/.$/, '#') },
      { 'X-Session-API-Key': '', Authorization: `Bearer ${KEY}` },
    ];
    for (const headers of wrong) {
      expect(await shared.worker.call('GET', conversation, undefined, headers)).toMatchObject(refused);
    }
  });

  it('answers health checks without a key', async () => {
    for (const route of ['/alive', '/health']) {
      const { status, body } = await shared.worker.call('GET', route, undefined, { 'X-Session-API-Key': '' });
      expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
    }
    expect(await get('/ready')).toEqual({ status: 200, body: { status: 'ready' } });
    expect((await get('/server_info')).body).toMatchObject({
      uptime: expect.any(Number) as number,
      version: '1.34.0',
      sdk_version: '1.34.0',
      acs_version: packageVersion,
    });
  });

  it.each([
    [{ host: 'example.com' }],
    [{ host: 'localhost.example.com' }],
    [{ host: '127.0.0.1', origin: 'https://example.com' }],
    [{ host: '127.0.0.1', origin: 'null' }],
  ])('refuses a foreign Host or Origin: %j', async (headers) => {
    expect(await raw('/api/conversations/count', { ...headers, 'x-session-api-key': KEY })).toBe(403);
  });

  it('answers 404 to an unknown path and 405 to another method, as genuine servers do', async () => {
    expect(await get('/api/nothing')).toEqual({ status: 404, body: { detail: 'Not Found' } });
    expect(await post('/api/conversations/search')).toEqual({ status: 405, body: { detail: 'Method Not Allowed' } });
  });
});

function raw(route: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: shared.worker.port, path: route, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
