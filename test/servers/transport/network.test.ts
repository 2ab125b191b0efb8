import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { classifyFailure } from '../../../src/servers/transport/failure.ts';
import { createNetwork, type Network } from '../../../src/servers/transport/network.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';

const ACCEPT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

let server: http.Server;
let network: Network;
let url: string;
let connectionHeaders: (string | undefined)[];
let upgraded: Duplex[];

beforeEach(async () => {
  connectionHeaders = [];
  upgraded = [];
  server = http.createServer((request, response) => {
    connectionHeaders.push(request.headers.connection);
    response.end('{}');
  });
  // Opens every web socket, and never answers a frame, as a process does that was stopped.
  server.on('upgrade', (request, stream: Duplex) => {
    const key = createHash('sha1').update(`${request.headers['sec-websocket-key']}${ACCEPT}`).digest('base64');
    stream.on('error', () => undefined);
    stream.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${key}\r\n\r\n`,
    );
    upgraded.push(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  network = createNetwork({ env: {}, connectTimeoutMs: 30_000, redaction: createRedaction([]) });
});

afterEach(async () => {
  await network.close();
  for (const stream of upgraded) stream.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const PLAIN = {
  method: 'GET',
  headers: {},
  body: null,
  silenceMs: 30_000,
  maxBytes: 1_000_000,
  signal: new AbortController().signal,
};

async function ask(kind: 'kept' | 'fresh'): Promise<void> {
  await network.send(`${url}/`, kind, PLAIN);
}

describe('connections', () => {
  it('are reused for reads, and opened for each request that must not be sent on a dropped one', async () => {
    for (const kind of ['kept', 'fresh'] as const) await ask(kind);
    expect(connectionHeaders).toEqual(['keep-alive', 'close']);
  });

  it('end with the network, including web sockets whose peer never answers the close frame', async () => {
    const socket = await network.openSocket(`${url.replace('http', 'ws')}/sockets/events/1`, {});
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    const [peer] = upgraded;
    const ended = new Promise<string>((resolve) => peer?.once('end', () => resolve('ended')));
    peer?.resume();
    socket.close();
    await network.close();
    expect(await ended).toBe('ended');
  });
});

describe('a connection that is lost', () => {
  it('may have sent the request, unless it was not established yet', () => {
    const lost = (syscall: string): unknown => Object.assign(new Error('gone'), { code: 'ETIMEDOUT', syscall });
    expect(classifyFailure(lost('read'), 'host', 1000)).toMatchObject({ class: 'reset', sent: 'maybe' });
    expect(classifyFailure(lost('connect'), 'host', 1000)).toMatchObject({ class: 'timeout', sent: 'no' });
    const both = Object.assign(new AggregateError([lost('connect')]), { code: 'ETIMEDOUT' });
    expect(classifyFailure(both, 'host', 1000)).toMatchObject({ class: 'timeout', sent: 'no' });
  });
});
