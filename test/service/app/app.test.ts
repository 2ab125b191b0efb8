import { describe, expect, it } from 'vitest';
import { createTestApp } from './support.ts';

describe('the app server', () => {
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
