import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { until } from '../../support/until.ts';
import type { Reply } from '../../servers/support/fake-server.ts';
import { record, useOddServer } from './odd-server.ts';

describe('sandbox commands at a server with unusual answers', () => {
  const server = useOddServer();

  it('exit 1 with the detail when a new sandbox fails', async () => {
    server.answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      server.sandboxes = [record('sandbox-new', 'ERROR', { status_detail: 'no space left' })];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const { code, err } = await server.acs('start');
    expect(code).toBe(1);
    expect(err).toContain('error: sandbox sandbox-new ended in an error: no space left');
  });

  it.each([130, 143])('print a new sandbox when a signal ends the wait for it: %i', async (exitCode) => {
    server.answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      server.sandboxes = [record('sandbox-new', 'STARTING')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const interruption = new AbortController();
    const starting = server.acsUntil(interruption.signal, 'start', '--json');
    await until(() => server.fake.asked.some(({ query }) => query.get('id') === 'sandbox-new'));
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

  it('end a wait at once for a status that can no longer be reached', async () => {
    server.sandboxes = [record('sandbox-broken', 'ERROR')];
    expect((await server.acs('wait', 'sandbox-broken', '--for', 'running')).code).toBe(1);
    expect((await server.acs('wait', 'sandbox-broken', '--for', 'error')).code).toBe(0);
  });

  it('show an unknown status as unknown, and do not end a wait for it', async () => {
    server.sandboxes = [record('sandbox-odd', 'HIBERNATING')];
    const { out } = await server.acs('list', '--fields', 'status');
    expect(out).toBe('unknown(hibernating)\n');
    expect((await server.acs('wait', 'sandbox-odd', '--wait-timeout', '100ms')).code).toBe(124);
  });

  it.each([
    [4, 'the key is refused', (): Reply => ({ status: 401, json: { detail: 'Unauthorized' } })],
    [9, 'it answers HTML', (): Reply => ({ text: '<html></html>', type: 'text/html' })],
  ])('ends with %s when %s', async (code, _, reply) => {
    server.fake.handler = reply;
    expect((await server.acs('list')).code).toBe(code);
  });

  it('exit 6 when the server answers that the status does not allow the change', async () => {
    server.sandboxes = [record('sandbox-full-of-work', 'PAUSED')];
    server.answer(({ method }) => (method === 'POST' ? { status: 409, json: { detail: 'limit reached' } } : null));
    const { code, err } = await server.acs('resume', 'sandbox-full-of-work');
    expect({ code, said: err.includes('limit reached') }).toEqual({ code: 6, said: true });
  });

  it('exit 7 when the server still answers 429 after the retries', async () => {
    server.answer(({ path: route }) =>
      route === '/api/v1/sandboxes/search'
        ? { status: 429, json: { message: 'Too many requests' }, headers: { 'retry-after': '0' } }
        : null,
    );
    expect((await server.acs('list')).code).toBe(7);
    expect(server.fake.lines().filter((line) => line === 'GET /api/v1/sandboxes/search')).toHaveLength(4);
  });
});
