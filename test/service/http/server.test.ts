import type { Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer } from '../../../src/service/http/server.ts';
import { createApp } from '../../../src/service/app/app.ts';
import { KEY as APP_KEY, createTestApp, type TestApp } from '../app/support.ts';
import { KEY, startOwnWorker, step, type OwnWorker } from '../agent-server/support/worker.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * One request with its body, then `GET next` on the same connection: the status of both, null when
 * it was closed.
 */
async function twoRequests(
  port: number,
  request: string,
  bytes: number,
  key: string,
  next: string,
): Promise<(number | null)[]> {
  const statuses: number[] = [];
  const head = `${request} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: ${key}\r\n`;
  const length = `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      resolve([statuses[0] ?? null, statuses[1] ?? null]);
    };
    socket.on('error', end);
    socket.on('close', end);
    socket.on('data', (chunk: Buffer) => {
      // The answers are short: each comes in one piece, or in two of which the first has the status
      // line.
      for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d+) /g))
        statuses.push(Number(status));
      if (statuses.length === 1) socket.write(`GET ${next} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      if (statuses.length === 2) end();
    });
    socket.write(head + length);
    socket.write(Buffer.alloc(bytes, 'a'));
  });
}

describe('an agent server', () => {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker({ spec: 'process' });
    await worker.startConversation([step.finish()]);
  });
  afterAll(() => worker.close());

  it.each([
    [401, 'POST /api/file/upload?path=/workspace/x', 'wrong', 200 * KIB],
    [404, 'POST /api/nothing', KEY, 200 * KIB],
    [404, 'DELETE /api/conversations/00000000-0000-0000-0000-000000000000', KEY, 200 * KIB],
    [404, 'GET /api/nothing', KEY, 200 * KIB],
    [405, 'PUT /api/conversations', KEY, 200 * KIB],
    [422, 'POST /api/conversations', KEY, 200 * KIB],
    [422, 'POST /api/file/upload', KEY, 200 * KIB],
    [400, 'POST /api/file/upload?path=relative', KEY, 200 * KIB],
    [422, 'POST /api/file/upload?path=/workspace/x', KEY, 129 * MIB],
    [413, 'POST /api/conversations', KEY, 129 * MIB],
  ])(
    'answers %i to %s and then the next request on the same connection',
    async (status, request, key, bytes) => {
      expect(await twoRequests(worker.port, request, bytes, key, '/alive')).toEqual([status, 200]);
    },
  );
});

describe('the app server', () => {
  let app: TestApp;
  let server: Server;
  beforeAll(async () => {
    app = await createTestApp();
    server = createHttpServer(createApp(app.context).fetch);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await app.close();
  });

  it.each([
    [401, 'POST /api/v1/app-conversations', 'wrong', 200 * KIB],
    [404, 'POST /api/nothing', APP_KEY, 200 * KIB],
    [405, 'PUT /api/v1/app-conversations', APP_KEY, 200 * KIB],
    [422, 'POST /api/v1/app-conversations', APP_KEY, 200 * KIB],
    [413, 'POST /api/v1/app-conversations', APP_KEY, 33 * MIB],
    [404, 'POST /api/v1/sandboxes/none/pause', APP_KEY, 200 * KIB],
  ])(
    'answers %i to %s and then the next request on the same connection',
    async (status, request, key, bytes) => {
      const { port } = server.address() as AddressInfo;
      expect(await twoRequests(port, request, bytes, key, '/openapi.json')).toEqual([status, 200]);
    },
  );
});
