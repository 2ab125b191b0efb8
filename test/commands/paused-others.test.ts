import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { until } from '../support/until.ts';
import { record, useOddServer } from './sandbox/odd-server.ts';

describe('sandbox commands at a server with unusual answers', () => {
  const server = useOddServer();

  it('print the document when a signal comes while the paused sandboxes are read', async () => {
    server.sandboxes = [record('sandbox-old')];
    let isMade = false;
    server.answer(({ method, path: route }) => {
      if (route === '/api/v1/sandboxes/search' && isMade) return { silence: true };
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      isMade = true;
      server.sandboxes = [...server.sandboxes, record('sandbox-new')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const interruption = new AbortController();
    const starting = server.acsUntil(interruption.signal, 'start', '--json');
    const looks = () => server.fake.asked.filter(({ path: route }) => route === '/api/v1/sandboxes/search').length;
    await until(() => isMade && looks() === 2);
    interruption.abort(new AppError('interrupted', 'interrupted'));
    expect(JSON.parse((await starting).out)).toMatchObject({ id: 'sandbox-new', status: 'running', changed: true });
  });

  it('name the sandboxes that the server paused for a new one', async () => {
    server.sandboxes = [record('sandbox-old'), record('sandbox-other')];
    server.answer(({ method, path: route }) => {
      if (method !== 'POST' || route !== '/api/v1/sandboxes') return null;
      server.sandboxes = [record('sandbox-new'), record('sandbox-old', 'PAUSED'), record('sandbox-other')];
      return { json: record('sandbox-new', 'STARTING') };
    });
    const { code, err } = await server.acs('start', '--json');
    expect(code).toBe(0);
    expect(err).toContain('{"notice":"the server paused another sandbox to make room: sandbox-old"}');
  });
});
