/** The answers of a service with fault injection (`acs serve --scenario`), as scripts see them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { idleClock } from '../support/idle-clock.ts';
import { createWorld, PACKAGE_ROOT, type World } from '../support/world.ts';

let world: World;
afterEach(() => world.close());

const LIST = '/api/v1/app-conversations/search';

/** A world with these rules. */
async function under(...rules: object[]): Promise<World> {
  world = await createWorld({ api: 'v1', spec: 'process', faults: rules });
  return world;
}

/** A command that sends no request to a sandbox: the pauses between its retries pass while this process is idle. */
const acs = (...args: string[]) => world.invoke({ args, clock: idleClock() });

interface ErrorOut {
  error: { code: string; message: string; status: number | null };
}

const errorOf = (err: string) => JSON.parse(err.trimEnd().split('\n').at(-1) ?? '{}') as ErrorOut;

const NEW = ['conv', 'new', '--no-repo', '--replay', 'demo', '--json'];

describe('a list of conversations', () => {
  it('is printed when the server was busy twice', async () => {
    await under({ path: LIST, status: 503, times: 2 });
    const { code, out } = await acs('conv', 'list', '--json');
    expect({ code, list: JSON.parse(out) as unknown }).toEqual({ code: 0, list: { items: [], has_more: false } });
  });

  it.each<[string, object, number, string, ...string[]]>([
    ['that is always busy', { status: 503 }, 9, 'server'],
    ['that refuses for ever to be asked so often', { status: 429, headers: { 'Retry-After': '0' } }, 7, 'rate-limited'],
    ['that answers with a page', { body: '<!doctype html>', content_type: 'text/html' }, 9, 'server'],
    ['that answers with something else', { body: { items: 'none' } }, 9, 'server'],
    ['that answers with half of a record', { body: '{"items":[', content_type: 'application/json' }, 9, 'server'],
    ['that refuses the key', { status: 401, body: { detail: 'Unauthorized' } }, 4, 'auth'],
    ['that cuts before an answer', { cut: 'before-headers' }, 10, 'network'],
    ['that cuts after the headers', { cut: 'after-headers' }, 10, 'network'],
    ['that cuts within the body', { cut: 'mid-body' }, 10, 'network'],
    ['that is silent too long', { latency: '1h' }, 10, 'network', '--request-timeout', '500ms'],
  ])('of a server %s ends with the exit code of the contract', async (_, rule, code, kind, ...flags) => {
    await under({ path: LIST, ...rule });
    const ended = await acs('conv', 'list', '--json', ...flags);
    expect([ended.code, errorOf(ended.err).error.code]).toEqual([code, kind]);
  });

  it('of a known server that answers with a web page exits 9', async () => {
    await under({ path: LIST, after: 1, body: '<!doctype html>', content_type: 'text/html' });
    expect((await acs('conv', 'list')).code).toBe(0);
    expect((await acs('conv', 'list')).code).toBe(9);
  });

  it('is printed despite latency and added headers', async () => {
    await under({ path: LIST, latency: '50ms', headers: { 'X-Fault': 'slow' } });
    expect((await acs('conv', 'list')).code).toBe(0);
    const answer = await fetch(`${world.service.url}${LIST}`, { headers: { 'X-Session-API-Key': world.service.key } });
    expect([answer.status, answer.headers.get('x-fault')]).toEqual([200, 'slow']);
    expect(await answer.json()).toEqual({ items: [], next_page_id: null });
  });
});

describe('a start', () => {
  it('whose answer was lost is executed once, and found', async () => {
    await under({
      method: 'POST',
      path: '/api/v1/app-conversations',
      cut: 'before-headers',
      delivered: true,
      times: 1,
    });
    expect((await world.acs(...NEW)).code).toBe(0);
    const { items } = JSON.parse((await world.acs('conv', 'list', '--json')).out) as { items: unknown[] };
    expect(items).toHaveLength(1);
  });

  it('that never reached the service exits 11 and creates nothing', async () => {
    await under({ method: 'POST', path: '/api/v1/app-conversations', cut: 'before-headers' });
    const ended = await acs(...NEW);
    expect([ended.code, errorOf(ended.err).error.code]).toEqual([11, 'unknown-outcome']);
    expect((await acs('conv', 'list', '-q')).out).toBe('');
  });
});

describe('the agent servers', () => {
  const started = async () => (JSON.parse((await world.acs(...NEW)).out) as { id: string }).id;
  const SOCKETS = '/sockets/events/**';

  it('whose web sockets are cut repeatedly are followed without lost or repeated events', async () => {
    await under({ server: 'agent', path: SOCKETS, cut: 'after-frames', frames: 3, times: 3 });
    const id = await started();
    const followed = await world.acs('conv', 'follow', id, '--format', 'ndjson');
    const ids = followed.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; id: string })
      .filter((line) => line.type === 'event')
      .map((line) => line.id);
    const events = JSON.parse((await world.acs('conv', 'events', id, '--json')).out) as { items: { id: string }[] };
    expect(followed.code).toBe(0);
    expect(ids).toEqual(events.items.map((event) => event.id));
  });

  it.each([
    ['refuse web sockets', { path: SOCKETS, status: 503 }],
    ['cut web sockets before they begin', { path: SOCKETS, cut: 'before-headers' }],
    ['cut web sockets as they begin', { path: SOCKETS, cut: 'after-headers' }],
    ['are late', { path: SOCKETS, latency: '30ms' }],
  ])('that %s are followed by reading', async (_, rule) => {
    await under({ server: 'agent', ...rule });
    expect((await world.acs('conv', 'follow', await started())).code).toBe(0);
  });

  it('fail for clients by the rules, and not for the service itself', async () => {
    await under({ server: 'agent', status: 500 });
    expect((await world.acs(...NEW, '--wait')).code).toBe(0);
  });
});

describe('fault injection', () => {
  it('does not change routes below /local/, and requests that are refused with 403 stay refused', async () => {
    await under({ status: 200, body: { open: true } });
    const ask = (route: string, headers: Record<string, string> = {}) => fetch(world.service.url + route, { headers });
    const activity = await ask('/local/activity', { 'X-Session-API-Key': world.service.key });
    expect(await activity.json()).toMatchObject({ running: false });
    expect((await ask('/api/settings', { Origin: 'https://elsewhere.example' })).status).toBe(403);
  });

  it('with examples/faults.json gives the exit codes that docs/fault-injection.md shows', async () => {
    const file = path.join(PACKAGE_ROOT, 'examples', 'faults.json');
    world = await createWorld({ api: 'v1', spec: 'process', faults: JSON.parse(readFileSync(file, 'utf8')) });
    expect((await world.acs('conv', 'new', '--replay', 'demo', '--no-repo', '--follow')).code).toBe(0);
    expect((await world.acs('conv', 'list')).code).toBe(0);
    expect((await world.acs('specs', 'list')).code).toBe(9);
  });
});
