/**
 * A server whose V0 routes refuse a wrong key while its V1 routes take any, as 1.4.0 and 1.6.0 do.
 */
import { expect, it } from 'vitest';
import { useLoose } from '../support/use-scripted.ts';

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'OpenHands', version: '1.4.0' },
  paths: {
    '/api/options/config': { get: {} },
    '/api/conversations': { get: {}, post: {} },
    '/api/v1/app-conversations': { post: {} },
    '/api/v1/app-conversations/search': { get: {} },
    '/api/v1/sandboxes/search': { get: {} },
  },
};

const at = useLoose({ v0: true, openapi: { status: 200, json: DOCUMENT } });

it('a wrong key is exit 4 for a command of V1 routes alone, also after a right key', async () => {
  await at.ends('sandbox list', {});
  const env = { ACS_API_KEY: 'not-the-right-key' };
  await at.ends('sandbox list --json', { env, code: 4, out: '', err: '"code":"auth"' });
});

it('a right key is proven once, also when another key is tried in between', async () => {
  const list = async (env: { ACS_API_KEY?: string } = {}): Promise<string[]> => {
    at.server.asked.length = 0;
    await at.invoke({ args: ['sandbox', 'list'], env });
    return at.server.asked.map(({ path }) => path);
  };
  expect(await list()).toContain('/api/options/config');
  expect(await list()).toEqual(['/api/v1/sandboxes/search']);
  expect(await list({ ACS_API_KEY: 'not-the-right-key' })).toContain('/api/options/config');
  expect(await list()).toEqual(['/api/v1/sandboxes/search']);
});

const START = 'conv new hello --no-repo --api v0';

it('a key that a V0 start refuses is exit 4 with the sources of the URL and of the key', async () => {
  let isRevoked = false;
  at.loose.before = ({ method, path }) => {
    isRevoked ||= method === 'POST' && path === '/api/conversations';
    return isRevoked ? { status: 401, json: { detail: 'Unauthorized' } } : null;
  };
  const err = ['the server refuses the key from ACS_API_KEY', 'the URL comes from ACS_BASE_URL'];
  await at.ends(START, { code: 4, err, writes: ['POST /api/conversations'] });
});

it('a refusal does not blame the key where the route that checks the key fails', async () => {
  await at.ends('sandbox list', {});
  at.script({
    'POST /api/conversations': { status: 401, json: 'No token for this provider' },
    'GET /api/options/config': { status: 503, json: {} },
  });
  const err = [
    'answered 401: No token for this provider',
    'it is not known whether this is about the key',
  ];
  await at.ends(START, { code: 4, err, hides: 'refuses the key' });
});

it('a V0 start that is refused for the git provider is exit 4 and does not blame the key', async () => {
  at.script({ 'POST /api/conversations': { status: 401, json: 'No token for this provider' } });
  const err = ['No token for this provider', 'about the git provider, not the key of acs'];
  await at.ends(START, { code: 4, err });
});
