/** Answers that a server or a proxy on the way has encoded, straight and through a proxy. */
import http from 'node:http';
import net from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createNetwork, type Network } from '../../../src/servers/transport/network.ts';
import { createPace } from '../../../src/servers/transport/pace.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';
import { createTransport, type Transport } from '../../../src/servers/transport/transport.ts';
import type { Call } from '../../../src/servers/transport/call.ts';
import { quickClock } from '../support/connect.ts';
import { failure } from '../support/failure.ts';

const READ: Call = { method: 'GET', path: '/api/x', safe: 'read' };
const BODY = { items: Array.from({ length: 50 }, (_, index) => ({ index, text: 'the same words' })) };
const TEXT = JSON.stringify(BODY);

let answer: { encoding: string; body: Buffer };
let offered: (string | undefined)[];
let server: http.Server;
let proxy: http.Server;
let network: Network;

const portOf = ({ address }: { address(): unknown }): number => (address() as net.AddressInfo).port;
const listen = (one: http.Server): Promise<void> => new Promise((resolve) => one.listen(0, '127.0.0.1', resolve));
const close = (one: http.Server): Promise<unknown> => {
  one.closeAllConnections();
  return new Promise((resolve) => one.close(resolve));
};

beforeEach(async () => {
  offered = [];
  server = http.createServer((request, response) => {
    offered.push(request.headers['accept-encoding']);
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': answer.encoding });
    response.end(answer.body);
  });
  await listen(server);
  // Leads every name to the server.
  proxy = http.createServer((request, response) => server.emit('request', request, response));
  proxy.on('connect', (_, socket: net.Socket) => {
    const onward = net.connect(portOf({ address: () => server.address() }), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const one of [socket, onward]) one.on('error', () => one.destroy());
  });
  await listen(proxy);
});

afterEach(async () => {
  await network.close();
  await Promise.all([close(server), close(proxy)]);
});

function transportOver(way: 'straight' | 'proxy'): Transport {
  const env = way === 'proxy' ? { HTTP_PROXY: `http://127.0.0.1:${portOf({ address: () => proxy.address() })}` } : {};
  network = createNetwork({ env, connectTimeoutMs: 5_000, redaction: createRedaction([]) });
  const clock = quickClock();
  return createTransport({
    network,
    baseUrl:
      way === 'proxy' ? 'http://server.invalid' : `http://127.0.0.1:${portOf({ address: () => server.address() })}`,
    headers: {},
    pace: createPace(() => null, clock),
    clock,
    signal: new AbortController().signal,
    mode: 'live',
    refused: (_, details) => Promise.resolve(new AppError('auth', 'refused', details)),
  });
}

describe.each(['straight', 'proxy'] as const)('an encoded answer over a connection of the kind %s', (way) => {
  it.each([
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
    ['identity', Buffer.from(TEXT)],
  ])('is decoded from %s', async (encoding, body) => {
    answer = { encoding, body };
    expect((await transportOver(way).request(READ)).body).toEqual(BODY);
  });

  it('is refused, with the limit, when it is too large after decoding', async () => {
    answer = { encoding: 'gzip', body: gzipSync(Buffer.alloc(2_000_001, 0x20)) };
    const error = await failure(transportOver(way).request({ ...READ, maxBytes: 2_000_000 }));
    expect([error.kind, error.exitCode]).toEqual(['server', 9]);
    expect(error.message).toContain('larger than the 1 MiB');
    expect(error.details.request?.method).toBe('GET');
  });

  it('is refused, with the limit, when it is too large before decoding', async () => {
    answer = { encoding: 'identity', body: Buffer.alloc(200_001, 0x20) };
    const error = await failure(transportOver(way).request({ ...READ, maxBytes: 200_000 }));
    expect([error.kind, error.message.includes('larger than the 200000 bytes')]).toEqual(['server', true]);
  });

  it.each([
    ['gzip', gzipSync(TEXT).subarray(0, 40), 'is damaged'],
    ['zstd', Buffer.from('anything'), 'encoded as zstd'],
    ['gzip, gzip, gzip, gzip', Buffer.from('anything'), 'in 4 layers'],
  ])('is exit 9 where %s cannot be decoded', async (encoding, body, words) => {
    answer = { encoding, body };
    const error = await failure(transportOver(way).request(READ));
    expect([error.kind, error.exitCode]).toEqual(['server', 9]);
    expect(error.message).toContain(words);
  });
});

it('requests accept no encoding from servers on the same machine, and the supported encodings from others', async () => {
  answer = { encoding: 'identity', body: Buffer.from(TEXT) };
  await transportOver('straight').request(READ);
  await network.close();
  await transportOver('proxy').request(READ);
  expect(offered).toEqual(['identity', 'gzip, deflate, br']);
});
