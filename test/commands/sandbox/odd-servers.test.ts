/** What sandbox commands make of servers that page oddly, fail, limit or speak an old dialect. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../../servers/support/fake-server.ts';
import { until } from '../../support/until.ts';
import { invoke, type Ended } from '../../support/world.ts';

const record = (id: string, status = 'RUNNING', more: object = {}) => ({
  id,
  status,
  sandbox_spec_id: 'image',
  session_api_key: null,
  exposed_urls: null,
  created_at: '2026-03-01T10:00:00Z',
  ...more,
});

describe('sandbox commands at an odd server', () => {
  let dir: string;
  let fake: FakeServer;
  let sandboxes: ReturnType<typeof record>[];
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
    sandboxes = [];
    fake = await startFake(usual);
  });
  afterEach(async () => {
    await fake.close();
    await rm(dir, { recursive: true, force: true });
  });

  const usual = ({ path: route, query }: Asked): Reply => {
    switch (route) {
      case '/api/v1/web-client/config':
        return { json: { app_mode: 'oss' } };
      case '/api/v1/app-conversations/count':
        return { json: 0 };
      case '/api/v1/app-conversations/search':
        return { json: { items: [], next_page_id: null } };
      case '/api/v1/sandboxes/search':
        return { json: { items: sandboxes, next_page_id: null } };
      case '/api/v1/sandboxes':
        return { json: query.getAll('id').map((id) => sandboxes.find((one) => one.id === id) ?? null) };
      default:
        return NOT_FOUND;
    }
  };
  /** Answers this way where it says something, and as usual elsewhere. */
  const answer = (odd: (asked: Asked) => Reply | null): void => {
    fake.handler = (asked) => odd(asked) ?? usual(asked);
  };
  const acs = (...args: string[]): Promise<Ended> => acsUntil(new AbortController().signal, ...args);
  const acsUntil = (signal: AbortSignal, ...args: string[]): Promise<Ended> =>
    invoke({
      signal,
      args: ['sandbox', ...args],
      cwd: dir,
      env: { ACS_BASE_URL: fake.url, ACS_API_KEY: 'key', ACS_CONFIG_DIR: path.join(dir, 'config') },
    });

  it('drops what two pages both hold', async () => {
    answer(({ path: route, query }) => {
      if (route !== '/api/v1/sandboxes/search') return null;
      return query.get('page_id') === '2'
        ? { json: { items: [record('sandbox-b'), record('sandbox-c')], next_page_id: null } }
        : { json: { items: [record('sandbox-a'), record('sandbox-b')], next_page_id: '2' } };
    });
    expect(await acs('list', '-q')).toMatchObject({ code: 0, out: 'sandbox-a\nsandbox-b\nsandbox-c\n' });
  });

  it('ends with 9 when a page leads back to itself', async () => {
    answer(({ path: route, query }) =>
      route === '/api/v1/sandboxes/search'
        ? { json: { items: [record(`sandbox-${query.get('page_id') ?? '0'}`)], next_page_id: '1' } }
        : null,
    );
    const { code, out, err } = await acs('list', '--all-pages', '--json');
    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'server' } });
    expect(fake.lines().filter((line) => line.endsWith('/search')).length).toBeLessThan(10);
  });

  it('asks for no page beyond the limit it was given', async () => {
    answer(({ path: route }) =>
      route === '/api/v1/sandboxes/search'
        ? { json: { items: [record('sandbox-a'), record('sandbox-b'), record('sandbox-c')], next_page_id: '3' } }
        : null,
    );
    const { out } = await acs('list', '-L', '2', '--json');
    expect(JSON.parse(out)).toMatchObject({ items: [{ id: 'sandbox-a' }, { id: 'sandbox-b' }], has_more: true });
    const asked = fake.asked.filter(({ path: route }) => route === '/api/v1/sandboxes/search');
    expect(asked.map(({ query }) => query.get('limit'))).toEqual(['3']);
  });

  it('ends with 1 and the detail when a new sandbox ends in an error', async () => {
    answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      sandboxes = [record('sandbox-new', 'ERROR', { status_detail: 'no space left' })];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const { code, err } = await acs('start');
    expect(code).toBe(1);
    expect(err).toContain('error: sandbox sandbox-new ended in an error: no space left');
  });

  it.each([130, 143])('prints and names a new sandbox when a signal ends the wait for it: %i', async (exitCode) => {
    answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      sandboxes = [record('sandbox-new', 'STARTING')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const interruption = new AbortController();
    const starting = acsUntil(interruption.signal, 'start', '--json');
    await until(() => fake.asked.some(({ query }) => query.get('id') === 'sandbox-new'));
    interruption.abort(new AppError('interrupted', 'interrupted', { exitCode }));
    const { code, out, err } = await starting;
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({
      code: exitCode,
      out: { id: 'sandbox-new', status: 'starting', changed: true },
    });
    expect(JSON.parse(err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'interrupted', id: 'sandbox-new', hint: expect.stringContaining('acs sandbox wait') as string },
    });
  });

  it('prints its document when a signal comes while it looks for what the server paused', async () => {
    sandboxes = [record('sandbox-old')];
    let isMade = false;
    answer(({ method, path: route }) => {
      if (route === '/api/v1/sandboxes/search' && isMade) return { silence: true };
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      isMade = true;
      sandboxes = [...sandboxes, record('sandbox-new')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const interruption = new AbortController();
    const starting = acsUntil(interruption.signal, 'start', '--json');
    const looks = () => fake.asked.filter(({ path: route }) => route === '/api/v1/sandboxes/search').length;
    await until(() => isMade && looks() === 2);
    interruption.abort(new AppError('interrupted', 'interrupted'));
    expect(JSON.parse((await starting).out)).toMatchObject({ id: 'sandbox-new', status: 'running', changed: true });
  });

  it('ends a wait at once for a state that can no longer come', async () => {
    sandboxes = [record('sandbox-broken', 'ERROR')];
    expect((await acs('wait', 'sandbox-broken', '--for', 'running')).code).toBe(1);
    expect((await acs('wait', 'sandbox-broken', '--for', 'error')).code).toBe(0);
  });

  it('shows a state invented later as unknown, and takes it for no end', async () => {
    sandboxes = [record('sandbox-odd', 'HIBERNATING')];
    const { out } = await acs('list', '--fields', 'status');
    expect(out).toBe('unknown(hibernating)\n');
    expect((await acs('wait', 'sandbox-odd', '--wait-timeout', '100ms')).code).toBe(124);
  });

  it('says which sandboxes the server paused to make room', async () => {
    sandboxes = [record('sandbox-old'), record('sandbox-other')];
    answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      sandboxes = [record('sandbox-new'), record('sandbox-old', 'PAUSED'), record('sandbox-other')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const { code, err } = await acs('start', '--json');
    expect(code).toBe(0);
    expect(err).toContain('{"notice":"the server paused another sandbox to make room: sandbox-old"}');
  });

  it('names the candidates of an ambiguous prefix', async () => {
    sandboxes = [record('sandbox-a'), record('sandbox-b')];
    const { code, err } = await acs('pause', 'sandbox', '--json');
    expect(code).toBe(2);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage', candidates: ['sandbox-a', 'sandbox-b'] } });
    expect(fake.lines().some((line) => line.startsWith('POST'))).toBe(false);
  });

  it('ends with 11 and sends nothing again when the answer to a create is lost', async () => {
    answer(({ method, path: route }) => (method === 'POST' && route === '/api/v1/sandboxes' ? { cut: true } : null));
    expect((await acs('start')).code).toBe(11);
    expect(fake.lines().filter((line) => line === 'POST /api/v1/sandboxes')).toHaveLength(1);
  });

  it.each([
    [4, 'the key is refused', (): Reply => ({ status: 401, json: { detail: 'Unauthorized' } })],
    [9, 'it answers HTML', (): Reply => ({ text: '<html></html>', type: 'text/html' })],
  ])('ends with %s when %s', async (code, _, reply) => {
    fake.handler = reply;
    expect((await acs('list')).code).toBe(code);
  });

  it('ends with 6 when the server says that the state does not allow it', async () => {
    sandboxes = [record('sandbox-full-of-work', 'PAUSED')];
    answer(({ method }) => (method === 'POST' ? { status: 409, json: { detail: 'limit reached' } } : null));
    const { code, err } = await acs('resume', 'sandbox-full-of-work');
    expect({ code, said: err.includes('limit reached') }).toEqual({ code: 6, said: true });
  });

  it('ends with 7 when it is still refused after the retries', async () => {
    answer(({ path: route }) =>
      route === '/api/v1/sandboxes/search'
        ? { status: 429, json: { message: 'Too many requests' }, headers: { 'retry-after': '0' } }
        : null,
    );
    expect((await acs('list')).code).toBe(7);
    expect(fake.lines().filter((line) => line === 'GET /api/v1/sandboxes/search')).toHaveLength(4);
  });

  it('ends with 12 at a server without sandboxes', async () => {
    fake.handler = ({ path: route }) =>
      route === '/api/options/config' ? { json: { APP_MODE: 'oss', FEATURE_FLAGS: {} } } : NOT_FOUND;
    for (const args of [['list'], ['start'], ['pause', '--all', '-y']]) expect((await acs(...args)).code).toBe(12);
  });

  it('ends with 10 at a closed port', async () => {
    expect((await acs('list', '--base-url', 'http://127.0.0.1:1')).code).toBe(10);
  });
});
