import { EventEmitter } from 'node:events';
import { request, type Server } from 'node:http';
import { Hono } from 'hono';
import { afterEach, expect, it } from 'vitest';
import { injectFaults, pause, SERVICE_HEADER } from '../../../src/service/faults/middleware.ts';
import { createFaultRules } from '../../../src/service/faults/rules.ts';
import { parseScenario } from '../../../src/service/faults/schema.ts';
import { createHttpServer, dropServer, listen, portOf } from '../../../src/service/http/server.ts';

let server: Server;
let handled: number;
afterEach(() => dropServer(server));

const BODY = JSON.stringify({ detail: 'as the service answers' });

/** A service with this rule that counts the requests it executes; its address. */
async function under(rule: object): Promise<string> {
  handled = 0;
  const app = new Hono();
  app.use(injectFaults(createFaultRules(parseScenario([rule]).rules, () => undefined)));
  app.all('*', (c) => {
    handled += 1;
    return c.body(BODY, 200, { 'Content-Type': 'application/json', 'X-Real': 'yes' });
  });
  server = createHttpServer(app.fetch);
  await listen(server, '127.0.0.1', 0);
  return `http://127.0.0.1:${String(portOf(server))}`;
}

/** What a client receives before the connection ends. */
function received(
  url: string,
): Promise<{ status: number | null; body: string; error: string | null }> {
  return new Promise((resolve) => {
    const got = { status: null as number | null, body: '' };
    request(url, (answer) => {
      got.status = answer.statusCode ?? null;
      answer.on('data', (chunk: Buffer) => (got.body += chunk.toString('utf8')));
      answer.on('end', () => resolve({ ...got, error: null }));
      answer.on('error', (error) => resolve({ ...got, error: error.message }));
    })
      .on('error', (error) => resolve({ ...got, error: error.message }))
      .end();
  });
}

it('an answer of the rule takes the place of the answer of the service, which does not get the request', async () => {
  const url = await under({ status: 503, headers: { 'Retry-After': '1' } });
  const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(3_000_000) });
  expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-real')]).toEqual([
    503,
    '1',
    null,
  ]);
  expect([await answer.json(), handled]).toEqual([{ detail: 'Service Unavailable' }, 0]);
});

it('an answer is altered where the service executes the request', async () => {
  const answer = await fetch(
    await under({ headers: { 'X-Fault': 'yes' }, content_type: 'text/html' }),
  );
  const headers = ['x-real', 'x-fault', 'content-type'].map((name) => answer.headers.get(name));
  expect([answer.status, headers, await answer.text(), handled]).toEqual([
    200,
    ['yes', 'yes', 'text/html'],
    BODY,
    1,
  ]);
});

it('a status alone replaces that of the service when the request is delivered, and one without a body has none', async () => {
  const busy = await fetch(await under({ status: 500, delivered: true }));
  expect([busy.status, await busy.text(), handled]).toEqual([500, BODY, 1]);
  await dropServer(server);
  const empty = await fetch(await under({ status: 204 }));
  expect([empty.status, await empty.text()]).toEqual([204, '']);
});

it.each<[string, object, { status: number | null; body: string }, number]>([
  ['before its headers', { cut: 'before-headers' }, { status: null, body: '' }, 0],
  [
    'before its headers, executed',
    { cut: 'before-headers', delivered: true },
    { status: null, body: '' },
    1,
  ],
  ['after its headers', { cut: 'after-headers' }, { status: 200, body: '' }, 1],
  ['in its middle', { cut: 'mid-body' }, { status: 200, body: BODY.slice(0, BODY.length >> 1) }, 1],
])('an answer is cut %s', async (_, rule, got, times) => {
  const { error, ...rest } = await received(await under(rule));
  expect([rest, handled]).toEqual([got, times]);
  expect(error).toMatch(/aborted|socket hang up|ECONNRESET/);
});

it('the own routes of the service and its own requests are not hit', async () => {
  const url = await under({ status: 500 });
  expect((await fetch(`${url}/local/stop`)).status).toBe(200);
  expect((await fetch(url, { headers: { [SERVICE_HEADER]: 'app' } })).status).toBe(200);
  expect((await fetch(`${url}/localized`)).status).toBe(500);
});

it('a latency ends when the client has gone, and leaves no listener', async () => {
  const connection = new EventEmitter();
  const waiting = pause(3_600_000, connection);
  connection.emit('close');
  await waiting;
  expect(connection.listenerCount('close')).toBe(0);
});
