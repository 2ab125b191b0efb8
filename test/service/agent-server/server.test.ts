import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { sandboxOfTest } from './support/sandbox-of-test.ts';

const sandbox = sandboxOfTest();

let taken: Server | null = null;
afterEach(() => {
  taken?.close();
  taken = null;
});

async function takePort(port: number): Promise<number> {
  const server = createServer();
  taken = server;
  // A port that another process has taken in between serves as well.
  const isTaken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(true);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => resolve(false));
  });
  return isTaken ? port : (server.address() as AddressInfo).port;
}

describe('a worker', () => {
  it('listens on another port when the wanted one is in use, also after a pause', async () => {
    const port = await takePort(0);
    const worker = await sandbox.start({ port });
    expect(worker.port).not.toBe(port);
    taken?.close();
    const first = worker.port;
    await worker.command('pause');
    await takePort(first);
    await worker.command('resume');
    expect(worker.port).not.toBe(first);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });
});
