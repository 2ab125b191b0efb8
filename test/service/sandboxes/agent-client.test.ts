import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { createAgentClient, jsonOf, textOf } from '../../../src/service/sandboxes/agent-client.ts';

let server: Server;
let client: ReturnType<typeof createAgentClient>;
afterEach(async () => {
  client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** An agent server that answers so; its port. */
async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> {
  server = createServer(answer);
  client = createAgentClient();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

it('a request has the key, the mark of the service, its query and its body', async () => {
  const port = await serve((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ method, url, headers, body }));
    });
  });
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
  const port = await serve((_, response) =>
    response.writeHead(503, { 'Content-Type': 'text/plain' }).end('busy'),
  );
  const answer = await client.send(port, '', { method: 'GET', path: '/' });
  expect(answer).toMatchObject({ status: 503, contentType: 'text/plain' });
  expect([jsonOf(answer), textOf(answer)]).toEqual([null, '"busy"']);
});

it.each<[string, (request: IncomingMessage, response: ServerResponse) => void, string | RegExp]>([
  ['does not answer', () => undefined, 'the agent server does not answer'],
  ['closes the connection', (request) => request.socket.destroy(), /socket hang up|ECONNRESET/],
  [
    'ends within its answer',
    (_, response) =>
      void response.writeHead(200, { 'Content-Length': 9 }).write('x', () => response.destroy()),
    /aborted/,
  ],
])('a request to an agent server that %s is rejected', async (_, answer, why) => {
  const port = await serve(answer);
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
  const seen: string[] = [];
  const port = await serve(({ socket, url = '' }, response) => {
    const isKept = connections.includes(socket);
    if (!isKept) connections.push(socket);
    seen.push(`${url} on ${connections.indexOf(socket)}`);
    if (isKept || url === '/refused') socket.destroy();
    else response.end('{}');
  });
  const send = (path: string) => client.send(port, '', { method: 'POST', path });
  expect((await send('/first')).status).toBe(200);
  expect((await send('/second')).status).toBe(200);
  await expect(send('/refused')).rejects.toThrow(/socket hang up|ECONNRESET/);
  expect(seen).toEqual([
    '/first on 0',
    '/second on 0',
    '/second on 1',
    '/refused on 1',
    '/refused on 2',
  ]);
});
