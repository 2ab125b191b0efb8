import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AgentClient, jsonOf, textOf } from '../../../src/service/sandboxes/agent-client.ts';
import {
  startFake,
  untilTestEnds,
  type FakeServer,
  type Handler,
  type Reply,
} from '../../support/server.ts';

let server: FakeServer;
let client: AgentClient;
beforeEach(() => void (client = new AgentClient()));
afterEach(() => client.close());

/** An agent server that answers so; its port. */
async function serve(answer: Handler): Promise<number> {
  server = await untilTestEnds(startFake(answer));
  return Number(new URL(server.url).port);
}

it('a request has the key, the mark of the service, its query and its body', async () => {
  const port = await serve(({ method, url, headers, text: body }) => ({
    json: { method, url, headers, body },
  }));
  const sent = await client.send(port, 'the-key', {
    method: 'POST',
    path: '/api/x',
    query: { q: 'a&b ü' },
    json: [1],
  });
  expect(jsonOf(sent)).toMatchObject({
    method: 'POST',
    url: '/api/x?q=a%26b+%C3%BC',
    headers: {
      'x-session-api-key': 'the-key',
      'x-acs-service': 'app',
      'content-type': 'application/json',
      'content-length': '3',
    },
    body: '[1]',
  });
  const raw = { contentType: 'text/plain', body: Buffer.from('ü') };
  const other = jsonOf(await client.send(port, 'the-key', { method: 'POST', path: '/', raw }));
  expect(other).toMatchObject({
    headers: { 'content-type': 'text/plain', 'content-length': '2' },
    body: 'ü',
  });
  const { headers } = jsonOf(await client.send(port, 'the-key', { method: 'GET', path: '/' })) as {
    headers: object;
  };
  expect(headers).not.toHaveProperty('content-type');
});

it('an answer is returned whatever its status', async () => {
  const port = await serve(() => ({ status: 503, text: 'busy', type: 'text/plain' }));
  const answer = await client.send(port, '', { method: 'GET', path: '/' });
  expect(answer).toMatchObject({ status: 503, contentType: 'text/plain' });
  expect([jsonOf(answer), textOf(answer)]).toEqual([null, '"busy"']);
});

it.each<[string, Reply, string | RegExp]>([
  ['does not answer', { silence: true }, 'the agent server does not answer'],
  ['closes the connection', { cut: true }, /socket hang up|ECONNRESET/],
  ['ends within its answer', { raw: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx' }, /aborted/],
])('a request to an agent server that %s is rejected', async (_, reply, why) => {
  const port = await serve(() => reply);
  await expect(client.send(port, '', { method: 'GET', path: '/', timeoutMs: 100 })).rejects.toThrow(
    why,
  );
});

it('the words of a refusal are its detail, in at most 500 characters', () => {
  const said = (body: string) =>
    textOf({ status: 400, contentType: 'application/json', body: Buffer.from(body) });
  expect(said('{"detail":"File not found"}')).toBe('File not found');
  expect(said('{"detail":[{"msg":"x"}]}')).toBe('[{"msg":"x"}]');
  expect(said('{"message":"x"}')).toBe('{"message":"x"}');
  expect(said('null')).toBe('"null"');
  expect(said(JSON.stringify({ detail: 'x'.repeat(600) }))).toHaveLength(500);
});

it('a request is sent again on a new connection when the kept one was closed, and no more than once on a new one', async () => {
  const connections: Socket[] = [];
  const port = await serve(({ socket, url }) => {
    const isKept = connections.includes(socket);
    if (!isKept) connections.push(socket);
    return isKept || url === '/refused' ? { cut: true } : { json: {} };
  });
  const send = (path: string) => client.send(port, '', { method: 'POST', path });
  expect((await send('/first')).status).toBe(200);
  expect((await send('/second')).status).toBe(200);
  await expect(send('/refused')).rejects.toThrow(/socket hang up|ECONNRESET/);
  expect(server.asked.map(({ url, socket }) => `${url} on ${connections.indexOf(socket)}`)).toEqual(
    ['/first on 0', '/second on 0', '/second on 1', '/refused on 1', '/refused on 2'],
  );
});
