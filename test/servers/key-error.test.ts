/** A server whose V0 routes refuse a wrong key while its V1 routes take any, as 1.4.0 and 1.6.0 do. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { looseTrap, type LooseTrap } from '../traps/support/trap.ts';

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

let trap: LooseTrap;

beforeEach(async () => {
  trap = await looseTrap({ v0: true, openapi: { status: 200, json: DOCUMENT } });
});

afterEach(async () => {
  await trap.close();
});

it('a wrong key is exit 4 for a command of V1 routes alone, also after a right key', async () => {
  expect((await trap.acs('sandbox', 'list')).code).toBe(0);
  const wrong = await trap.invoke({ args: ['sandbox', 'list', '--json'], env: { ACS_API_KEY: 'not-the-right-key' } });
  expect(wrong).toMatchObject({ code: 4, out: '' });
  expect(wrong.err).toContain('"code":"auth"');
});

it('a right key is proven once, also when another key is tried in between', async () => {
  const list = async (key?: string): Promise<string[]> => {
    const before = trap.fake.asked.length;
    await trap.invoke({ args: ['sandbox', 'list'], ...(key === undefined ? {} : { env: { ACS_API_KEY: key } }) });
    return trap.fake.asked.slice(before).map(({ path }) => path);
  };
  expect(await list()).toContain('/api/options/config');
  expect(await list()).toEqual(['/api/v1/sandboxes/search']);
  expect(await list('not-the-right-key')).toContain('/api/options/config');
  expect(await list()).toEqual(['/api/v1/sandboxes/search']);
});

it('a key that a V0 start refuses is exit 4 with the sources of the URL and of the key', async () => {
  let isRevoked = false;
  trap.before = ({ method, path }) => {
    isRevoked ||= method === 'POST' && path === '/api/conversations';
    return isRevoked ? { status: 401, json: { detail: 'Unauthorized' } } : null;
  };
  const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo', '--api', 'v0');
  expect(code, err).toBe(4);
  expect(err).toContain('the server refuses the key from ACS_API_KEY');
  expect(err).toContain('the URL comes from ACS_BASE_URL');
  expect(trap.fake.lines()).toContain('POST /api/conversations');
});

it('a V0 start that is refused for the git provider is exit 4 and does not blame the key', async () => {
  trap.before = ({ method, path }) =>
    method === 'POST' && path === '/api/conversations' ? { status: 401, json: 'No token for this provider' } : null;
  const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo', '--api', 'v0');
  expect(code).toBe(4);
  expect(err).toContain('No token for this provider');
  expect(err).toContain('about the git provider, not the key of acs');
});
