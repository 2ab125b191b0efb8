/** How many requests whoami and doctor send once the server is known. */
import { describe, expect, it } from 'vitest';
import { useWorld } from '../support/use-world.ts';

const PROBE = [
  'GET /openapi.json',
  'GET /api/v1/web-client/config',
  'GET /api/v1/app-conversations/count',
  'GET /api/options/config',
];

describe.each([
  ['V1 and V0', 'both', ['GET /api/options/config', 'GET /api/v1/users/me']],
  ['V1', 'v1', ['GET /api/v1/app-conversations/count', 'GET /api/v1/users/me']],
  ['V0', 'v0', ['GET /api/options/config']],
] as const)('at a server with %s', (_, api, account) => {
  const at = useWorld({ api, spec: 'process' });

  it('whoami sends one request that checks the key, and one for the user where there is one', async () => {
    await at.ends('whoami', {});
    at.server.asked.length = 0;
    await at.ends('whoami', {});
    expect(at.server.lines()).toEqual(account);
  });

  it('whoami sends the same where the server has no route for the user', async () => {
    await at.ends('whoami', {});
    at.server.asked.length = 0;
    at.script({ '/api/v1/users/me': { status: 404, json: { detail: 'Not Found' } } });
    await at.ends('whoami --json', { out: { user: null } });
    expect(at.server.lines()).toEqual(account);
  });

  it('doctor sends each request once', async () => {
    const env = { ACS_DATA_DIR: `${at.dir}/no-service` };
    await at.ends('doctor --json', { env });
    const [probe, checks] = [at.server.lines().slice(0, 4), at.server.lines().slice(4)];
    expect(probe.toSorted()).toEqual(PROBE.toSorted());
    expect(checks).toEqual([
      ...account,
      'GET /health',
      api === 'v0' ? 'GET /api/settings' : 'GET /api/v1/settings',
      ...(api === 'v0' ? [] : ['GET /api/v1/sandboxes/search']),
    ]);
  });
});

describe('at the local service', () => {
  const at = useWorld({ spec: 'process', target: 'none' });

  it('whoami sends two requests once its process is known', async () => {
    const line = ['whoami', '-p', 'local', '--debug'];
    const env = { ACS_DATA_DIR: at.world.dataDir };
    await at.ends(line, { env });
    const { err } = await at.ends(line, { env });
    expect(err.match(/^> GET \S+/gm)?.map((text) => new URL(text.slice(6)).pathname)).toEqual([
      '/api/options/config',
      '/api/v1/users/me',
    ]);
  });
});
