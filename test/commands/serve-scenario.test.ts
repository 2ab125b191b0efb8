/** The answers of a service with fault injection (`acs serve --scenario`), as scripts see them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { idleClock } from '../support/test-clock.ts';
import { useWorld } from '../support/use-world.ts';
import { createWorld, PACKAGE_ROOT } from '../support/world.ts';

const V1 = '/api/v1/app-conversations';
const START = { method: 'POST', path: V1 };
const SOCKETS = { server: 'agent', path: '/sockets/events/**' };
/**
 * A command that sends no request to a sandbox: the pauses between its retries pass while this
 * process is idle.
 */
const clock = () => idleClock();

describe('a service with a rule for each route', () => {
  const RULES: [path: string, rule: object, code: number, kind: string, flags?: string][] = [
    ['/api/v1/busy', { status: 503 }, 9, 'server'],
    ['/api/v1/often', { status: 429, headers: { 'Retry-After': '0' } }, 7, 'rate-limited'],
    ['/api/v1/refused', { status: 401, body: { detail: 'Unauthorized' } }, 4, 'auth'],
    ['/api/v1/before-headers', { cut: 'before-headers' }, 10, 'network'],
    ['/api/v1/after-headers', { cut: 'after-headers' }, 10, 'network'],
    ['/api/v1/mid-body', { cut: 'mid-body', body: { items: [] } }, 10, 'network'],
    ['/api/v1/silent', { latency: '1h' }, 10, 'network', '--request-timeout 500ms'],
  ];
  const at = useWorld({
    api: 'v1',
    spec: 'process',
    clock,
    faults: [
      ...RULES.map(([route, rule]) => ({ path: route, ...rule })),
      {
        path: '/api/v1/sandbox-specs/search',
        body: '<!doctype html>',
        content_type: 'text/html',
        after: 1,
      },
      { path: `${V1}/search`, status: 503, times: 2 },
      { path: `${V1}/search`, latency: '50ms', headers: { 'X-Fault': 'slow' } },
      { ...START, cut: 'before-headers', times: 1 },
      { ...START, cut: 'before-headers', delivered: true, times: 1 },
      { path: '/api/settings', status: 200, body: { open: true } },
      { path: '/local/**', status: 500 },
    ],
  });

  it.each(RULES)('%s with %j is exit %i: %s', async (route, _rule, code, kind, flags = '') => {
    await at.ends(`api GET ${route} --json ${flags}`, { code, out: '', err: `"code":"${kind}"` });
  });

  it('prints a list when the server was busy twice, and despite latency and added headers', async () => {
    expect(await at.json('conv list')).toEqual({ items: [], has_more: false });
    const headers = { 'X-Session-API-Key': at.world.service.key };
    const answer = await fetch(`${at.world.service.url}${V1}/search`, { headers });
    expect([answer.status, answer.headers.get('x-fault')]).toEqual([200, 'slow']);
    expect(await answer.json()).toEqual({ items: [], next_page_id: null });
  });

  it('exits 9 for a web page of a server that is known', async () => {
    await at.ends('specs list', {});
    await at.ends('specs list', { code: 9 });
  });

  it('does not change routes below /local/, and requests that are refused with 403 stay refused', async () => {
    const ask = (route: string, headers: Record<string, string> = {}) =>
      fetch(at.world.service.url + route, { headers });
    const activity = await ask('/local/activity', { 'X-Session-API-Key': at.world.service.key });
    expect([activity.status, await activity.json()]).toEqual([
      200,
      expect.objectContaining({ running: false }),
    ]);
    expect((await ask('/api/settings', { Origin: 'https://elsewhere.example' })).status).toBe(403);
  });

  // The last one: with a sandbox this process is never idle.
  it('exits 11 for a start that it never got, and carries out one whose answer is lost once', async () => {
    const start = 'conv new --no-repo --replay demo --json';
    await at.ends(start, { code: 11, err: '"code":"unknown-outcome"' });
    expect((await at.world.acs(...start.split(' '))).code).toBe(0);
    const { items } = JSON.parse((await at.world.acs('conv', 'list', '--json')).out) as {
      items: unknown[];
    };
    expect(items).toHaveLength(1);
  });
});

describe('agent servers with rules', () => {
  const faults = [
    { ...SOCKETS, cut: 'after-frames', frames: 3, times: 3 },
    { ...SOCKETS, status: 503, times: 1 },
    { ...SOCKETS, cut: 'before-headers', times: 1 },
    { ...SOCKETS, cut: 'after-headers', times: 1 },
    { ...SOCKETS, latency: '30ms' },
  ];
  const at = useWorld({ api: 'v1', spec: 'process', faults });

  it('whose web sockets are cut, refused or late are followed without lost or repeated events', async () => {
    const { id } = await at.json<{ id: string }>('conv new --no-repo --replay demo');
    await at.ends(`conv wait ${id}`, {});
    const { items } = await at.json<{ items: { id: string }[] }>(`conv events ${id}`);
    for (let times = 0; times < 5; times++) {
      const { out } = await at.ends(`conv follow ${id} --format ndjson`, {});
      const lines = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string; id: string });
      expect(lines.filter(({ type }) => type === 'event').map((line) => line.id)).toEqual(
        items.map((each) => each.id),
      );
    }
  });
});

it('examples/faults.json gives the exit codes that docs/fault-injection.md shows', async () => {
  const faults = JSON.parse(
    readFileSync(path.join(PACKAGE_ROOT, 'examples', 'faults.json'), 'utf8'),
  ) as unknown;
  const world = await createWorld({ api: 'v1', spec: 'process', faults });
  const lines = ['conv new --replay demo --no-repo --follow', 'conv list', 'specs list'];
  const codes = [];
  for (const line of lines) codes.push((await world.acs(...line.split(' '))).code);
  expect(codes).toEqual([0, 0, 9]);
  await world.close();
});
