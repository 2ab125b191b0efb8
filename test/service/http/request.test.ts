import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, type TestApp } from '../app/support.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

const post = (path: string, body: unknown) => app.call('POST', path, body);

describe('the body of a request', () => {
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

describe('a body other than a JSON object', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;

  it.each(['/api/settings', '/api/v1/settings', '/api/conversations', '/api/v1/app-conversations', '/api/v1/secrets'])(
    'is refused by %s, a list or nested deeply',
    async (path) => {
      expect((await post(path, '[]')).status).toBe(422);
      expect((await post(path, '[{"language":"de"}]')).status).toBe(422);
      expect((await post(path, deep)).status).toBe(422);
    },
  );

  it('is refused as a replay, too', async () => {
    const replay = await post('/api/v1/app-conversations', { replay_json: `[${deep}]` });
    expect(replay.status).toBe(422);
    expect(JSON.stringify(replay.body)).toContain('nested too deeply');
  });
});
