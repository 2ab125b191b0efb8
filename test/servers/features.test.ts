/** What a server is, found by asking: every kind of server that a URL may lead to (interface 9). */
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, type Asked, type Reply } from './support/fake-server.ts';
import { recordings } from './support/recordings.ts';
import { KEY } from './support/v1-world.ts';
import { commandsAt, fakeTrap, REAL_TIME, type FakeTrap } from '../traps/support/trap.ts';

const newer = recordings('1.11.0');
const older = recordings('1.6.0');
const EMPTY_PAGE: Reply = { json: { items: [], next_page_id: null } };

const V1_ONLY = {
  '/openapi.json': newer.reply('probe.openapi'),
  '/api/v1/web-client/config': newer.reply('probe.web-client'),
  '/api/v1/app-conversations/count': { json: 0 },
  '/api/v1/app-conversations/search': EMPTY_PAGE,
  '/api/v1/users/me': { json: { id: null } },
} satisfies Record<string, Reply>;
const V0_AND_V1 = {
  '/openapi.json': older.reply('probe.openapi'),
  '/api/v1/web-client/config': older.reply('probe.web-client'),
  '/api/v1/app-conversations/count': { json: 0 },
  '/api/v1/app-conversations/search': EMPTY_PAGE,
  '/api/options/config': older.reply('probe.options-config'),
  '/api/conversations': { json: { results: [], next_page_id: null } },
} satisfies Record<string, Reply>;
const V0_ONLY = {
  '/api/options/config': older.reply('probe.options-config'),
  '/api/conversations': { json: { results: [], next_page_id: null } },
} satisfies Record<string, Reply>;
const OPEN = new Set(['/openapi.json', '/api/v1/web-client/config']);

/** Routes by path; all others are set by the test, and those of `/api/` require the key. */
function routes(byPath: Record<string, Reply>, otherwise: Reply = NOT_FOUND) {
  return ({ path, headers }: Asked): Reply => {
    const reply = byPath[path];
    if (reply === undefined) return otherwise;
    if (OPEN.has(path) || headers['x-session-api-key'] === KEY) return reply;
    return { status: 401, json: { detail: 'Unauthorized' } };
  };
}

let trap: FakeTrap;

afterEach(() => trap.close());

interface Identity {
  dialect: string;
  dialects: string[];
  version: string | null;
  flavour: string | null;
  features: string[];
}

async function whoami(byPath: Record<string, Reply>, otherwise?: Reply): Promise<Identity> {
  trap = await fakeTrap(routes(byPath, otherwise));
  const { code, out, err } = await trap.acs('whoami', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as Identity;
}

describe('whoami shows dialect, version and features of', () => {
  it('a server that speaks V1 only', async () => {
    const found = await whoami(V1_ONLY);
    expect(found).toMatchObject({ dialect: 'v1', dialects: ['v1'], version: '1.11.0', flavour: 'self-hosted' });
    expect(found.features).toEqual(expect.arrayContaining(['send-message', 'v1-settings', 'model-profiles']));
    expect(found.features).not.toContain('replay');
  });

  it('a server that speaks V0 and V1', async () => {
    const found = await whoami(V0_AND_V1);
    expect(found).toMatchObject({ dialect: 'v1', dialects: ['v1', 'v0'], version: '1.6.0', flavour: 'self-hosted' });
    expect(found.features).toContain('replay');
    expect(found.features).not.toContain('send-message');
  });

  it('a server that speaks V0 only', async () => {
    expect(await whoami(V0_ONLY)).toMatchObject({ dialect: 'v0', dialects: ['v0'], version: null });
  });

  it('a server whose web page answers for every path it does not know', async () => {
    const page: Reply = { text: '<!doctype html><title>app</title>', type: 'text/html' };
    expect(await whoami(V0_ONLY, page)).toMatchObject({ dialects: ['v0'] });
    await trap.close();
    const { '/openapi.json': _document, ...hidden } = V1_ONLY;
    expect(await whoami(hidden, page)).toMatchObject({ dialects: ['v1'], version: null });
  });

  it('the same facts on a terminal, each in a row of its own', async () => {
    trap = await fakeTrap(routes(V1_ONLY));
    const { out } = await trap.invoke({ args: ['whoami'], columns: 100, env: { NO_COLOR: '1' } });
    expect(out).toMatch(/^dialect +v1$/m);
    expect(out).toMatch(/^version +1\.11\.0$/m);
    expect(out).toMatch(/^features +.*send-message/m);
  });
});

describe('a key', () => {
  it.each([
    ['V1 only', V1_ONLY],
    ['V0 and V1', V0_AND_V1],
    ['V0 only', V0_ONLY],
  ])('that is missing or wrong exits 4 with a message of its own, at a server that speaks %s', async (_, byPath) => {
    trap = await fakeTrap(routes(byPath), null);
    const missing = await trap.acs('whoami');
    expect(missing).toMatchObject({ code: 4, out: '' });
    expect(missing.err).toContain('asks for a key, and none was given');
    const wrong = await trap.invoke({ args: ['whoami', '--debug'], env: { ACS_API_KEY: 'wrong-key-0123456789' } });
    expect(wrong).toMatchObject({ code: 4, out: '' });
    expect(wrong.err).toContain('refuses the key');
    expect(wrong.err).not.toContain('wrong-key-0123456789');
  });
});

describe('a URL that is no app server', () => {
  it('exits 9 when it is a web page, with a hint about the URL', async () => {
    trap = await fakeTrap(() => ({ text: '<!doctype html><title>hello</title>', type: 'text/html' }));
    const { code, out, err } = await trap.acs('whoami');
    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain('text/html');
    expect(err).toContain('is this the right server?');
  });

  it('exits 9 when it answers other JSON', async () => {
    trap = await fakeTrap(() => ({ json: { hello: 'world' } }));
    expect(await trap.acs('whoami')).toMatchObject({ code: 9, out: '' });
  });

  it('exits 9 and names the agent server of a sandbox', async () => {
    const document = {
      info: { title: 'OpenHands Agent Server', version: '0.1.0' },
      paths: { '/api/conversations': {} },
    };
    trap = await fakeTrap(routes({ '/openapi.json': { json: document } }));
    const { code, err } = await trap.acs('whoami');
    expect(code).toBe(9);
    expect(err).toContain('the URL is that of an agent server in a sandbox');
  });

  it('exits 10 when it accepts the connection and does not answer', async () => {
    trap = await fakeTrap(() => ({ silence: true }));
    const { code, out, err } = await trap.invoke({
      args: ['whoami', '--request-timeout', '300ms'],
      clock: REAL_TIME,
    });
    expect({ code, out }).toEqual({ code: 10, out: '' });
    expect(err).toContain('sent nothing for 0.3 s');
  });
});

it('a command exits at its deadline when an answer never ends', async () => {
  const drips: NodeJS.Timeout[] = [];
  const dripping: HttpServer = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    drips.push(setInterval(() => response.write(' '), 100));
  });
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
  const { port } = dripping.address() as AddressInfo;
  const commands = await commandsAt(`http://127.0.0.1:${port}`);
  trap = await fakeTrap(() => NOT_FOUND);
  try {
    const { code, err } = await commands.acs('whoami');
    expect(code).toBe(10);
    expect(err).toContain('did not complete a response');
  } finally {
    drips.forEach(clearInterval);
    dripping.closeAllConnections();
    await new Promise((resolve) => dripping.close(resolve));
    await commands.close();
  }
});

it('the routes of a server without a document are probed in the time of one request', async () => {
  trap = await fakeTrap(routes({ ...V1_ONLY, '/openapi.json': { silence: true } }));
  // Long enough for the other answers, also on a busy machine.
  const { code, out } = await trap.invoke({
    args: ['whoami', '--json', '--request-timeout', '3s'],
    clock: REAL_TIME,
  });
  expect({ code, found: JSON.parse(out) as unknown }).toMatchObject({
    code: 0,
    found: { dialects: ['v1'], version: null },
  });
});

describe('the cached probe of a server', () => {
  it('lets the next command send one request', async () => {
    trap = await fakeTrap(routes(V1_ONLY));
    await trap.acs('conv', 'list');
    trap.fake.asked.length = 0;
    await trap.acs('conv', 'list');
    expect(trap.fake.lines()).toEqual(['GET /api/v1/app-conversations/search']);
  });

  it('expires after a day', async () => {
    trap = await fakeTrap(routes(V1_ONLY));
    await trap.acs('conv', 'list');
    trap.fake.asked.length = 0;
    const { clock } = trap;
    const later = { ...clock, now: () => clock.now() + 25 * 3_600_000 };
    await trap.invoke({ args: ['conv', 'list'], clock: later });
    expect(trap.fake.lines()).toContain('GET /openapi.json');
  });

  it.each<[string, Record<string, Reply>, Record<string, Reply>]>([
    ['V0 and V1, now V1 only', V0_AND_V1, V1_ONLY],
    ['V0 only, now V1 only', V0_ONLY, V1_ONLY],
    ['V1 only, now V0 only', V1_ONLY, V0_ONLY],
  ])('is dropped on a surprise: %s', async (_, before, now) => {
    trap = await fakeTrap(routes(before));
    expect(await trap.acs('conv', 'list', '--json')).toMatchObject({ code: 0 });
    trap.fake.handler = routes(now);
    const surprised = await trap.acs('conv', 'list', '--json');
    expect(surprised, surprised.err).toMatchObject({ code: 9, out: '' });
    expect(surprised.err).toMatch(/has changed since acs last asked what it is.*run the command again/);
    expect(await trap.acs('conv', 'list', '--json')).toMatchObject({ code: 0 });
  });

  it('is stored per origin', async () => {
    trap = await fakeTrap(routes(V1_ONLY));
    const other = await fakeTrap(routes(V0_ONLY));
    try {
      await trap.acs('conv', 'list');
      const { out } = await trap.invoke({ args: ['whoami', '--json'], env: { ACS_BASE_URL: other.fake.url } });
      expect(JSON.parse(out)).toMatchObject({ dialects: ['v0'] });
    } finally {
      await other.close();
    }
  });
});
