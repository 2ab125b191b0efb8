/** What sandbox commands make of servers that page oddly, fail, limit or speak an old dialect. */
import { describe, expect, it } from 'vitest';
import { NOT_FOUND } from '../../servers/support/fake-server.ts';
import { useOddServer } from './odd-server.ts';

describe('sandbox commands at a server with unusual answers', () => {
  const server = useOddServer();

  it('exit 11 and send nothing again when the answer to a create is lost', async () => {
    server.answer(({ method, path: route }) =>
      method === 'POST' && route === '/api/v1/sandboxes' ? { cut: true } : null,
    );
    expect((await server.acs('start')).code).toBe(11);
    expect(server.fake.lines().filter((line) => line === 'POST /api/v1/sandboxes')).toHaveLength(1);
  });

  it('exit 12 at a server without sandboxes', async () => {
    server.fake.handler = ({ path: route }) =>
      route === '/api/options/config' ? { json: { APP_MODE: 'oss', FEATURE_FLAGS: {} } } : NOT_FOUND;
    for (const args of [['list'], ['start'], ['pause', '--all', '-y']])
      expect((await server.acs(...args)).code).toBe(12);
  });

  it('exit 10 at a closed port', async () => {
    expect((await server.acs('list', '--base-url', 'http://127.0.0.1:1')).code).toBe(10);
  });
});
