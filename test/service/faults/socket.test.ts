import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { parseScenario } from '../../../src/service/faults/schema.ts';
import { boundFrames, letUpgrade } from '../../../src/service/faults/socket.ts';

let server: Server;
afterEach(() => new Promise((resolve) => server.close(resolve)));

/** What a client of a web socket that would send five frames receives under this rule. */
async function received(
  rule: object,
): Promise<{ status: number; body: string; frames: string[]; code: number | null }> {
  const written = [{ server: 'agent', ...rule }];
  const [applied] = parseScenario(written).rules;
  if (applied === undefined) throw new Error('there is no rule');
  const sockets = new WebSocketServer({ noServer: true });
  server = createServer();
  server.on('upgrade', (request, socket: Duplex, head) => {
    void letUpgrade(applied, socket).then((isLet) => {
      if (!isLet) return;
      sockets.handleUpgrade(request, socket, head, (client) => {
        boundFrames(applied, client);
        client.on('error', () => undefined);
        for (let index = 1; index <= 4; index += 1) client.send(String(index), () => undefined);
        client.send('5', (error) => {
          if (error == null) client.close(1000);
        });
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new WebSocket(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}/`);
  const got = { status: 0, body: '', frames: [] as string[], code: null as number | null };
  client.on('upgrade', (answer) => (got.status = answer.statusCode ?? 0));
  client.on('message', (data: Buffer) => got.frames.push(data.toString('utf8')));
  return await new Promise((resolve) => {
    client.on('error', () => resolve(got));
    client.on('close', (code) => resolve({ ...got, code }));
    client.on('unexpected-response', (_, answer) => {
      got.status = answer.statusCode ?? 0;
      answer.on('data', (chunk: Buffer) => (got.body += chunk.toString('utf8')));
      answer.on('end', () => resolve(got));
    });
  });
}

it.each<[string, object, { status: number; frames: string[]; code: number | null }]>([
  [
    'late alone',
    { latency: '1ms' },
    { status: 101, frames: ['1', '2', '3', '4', '5'], code: 1000 },
  ],
  [
    'cut after two frames',
    { cut: 'after-frames', frames: 2 },
    { status: 101, frames: ['1', '2'], code: 1006 },
  ],
  ['cut within its first frames', { cut: 'mid-body' }, { status: 101, frames: ['1'], code: 1006 }],
  ['cut before its first frame', { cut: 'after-headers' }, { status: 101, frames: [], code: 1006 }],
  ['cut before the upgrade', { cut: 'before-headers' }, { status: 0, frames: [], code: null }],
])('a web socket is %s', async (_, rule, expected) => {
  expect(await received(rule)).toMatchObject(expected);
});

it('an upgrade is refused with the status and the body of the rule', async () => {
  expect(await received({ status: 503 })).toMatchObject({
    status: 503,
    body: '{"detail":"Service Unavailable"}',
  });
});

it('an upgrade is answered with the body of the rule where it has no status', async () => {
  expect(await received({ body: 'ü <html>' })).toMatchObject({
    status: 200,
    body: 'ü <html>',
    frames: [],
  });
});
