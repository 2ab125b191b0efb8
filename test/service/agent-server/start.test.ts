import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventsOf, ID, outline, outputs, startConversation, statusOf, step, untilStatus } from './support/worker.ts';
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
  // One that somebody else was quicker to take is as good.
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

  it('accepts each command twice', async () => {
    const worker = await sandbox.start();
    for (const type of ['pause', 'pause', 'resume', 'resume'] as const) await worker.command(type);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('starts with a damaged log, does not change it, and warns', async () => {
    const damaged = path.join(sandbox.place.events, '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7.db');
    writeFileSync(damaged, 'this is no database, and it is long enough to be looked at as one'.repeat(100));
    const worker = await sandbox.start();
    expect(worker.notices.find((notice) => notice.type === 'warning')?.text).toMatch(
      /7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7/,
    );
    expect(readFileSync(damaged, 'utf8')).toContain('this is no database');
    expect((await worker.call('GET', '/api/conversations/count')).body).toBe(0);
  });

  it('has the pending action after a restart', async () => {
    let worker = await sandbox.start();
    await startConversation(worker, [step.run('echo done > done; cat done'), step.finish()], {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      secrets: { TOKEN: 'hidden' },
    });
    await untilStatus(worker, 'waiting_for_confirmation');
    await worker.end();
    worker = await sandbox.start();
    expect(await statusOf(worker)).toBe('waiting_for_confirmation');
    const accept = () =>
      worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, { accept: true });
    await Promise.all([accept(), accept()]);
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['done']);
    expect(outline(events).filter((word) => word === 'TerminalAction')).toHaveLength(1);
    expect((await worker.call('GET', `/api/conversations/${ID}`)).body).toMatchObject({
      secret_registry: { secret_sources: { TOKEN: { value: null } } },
    });
  });

  it('serves a finished conversation completely after a restart', async () => {
    let worker = await sandbox.start();
    await startConversation(worker, [step.run('echo one'), step.finish('End.')]);
    await untilStatus(worker, 'finished');
    const before = await eventsOf(worker);
    await worker.end();
    worker = await sandbox.start();
    expect(await eventsOf(worker)).toEqual(before);
    expect(await statusOf(worker)).toBe('finished');
  });
});
