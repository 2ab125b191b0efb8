import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, type Server, createServer } from 'node:net';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/service/agent-server/conversation.ts';
import type { ConversationNotice } from '../../../src/service/base/worker-protocol.ts';
import { openEventLog } from '../../../src/service/storage/event-log.ts';
import { noMetrics } from '../../../src/service/storage/conversation-state.ts';
import { sandboxOfTest } from './support/shared-sandboxes.ts';
import { ID, outline, outputs, step } from './support/worker.ts';

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
  it('accepts each command twice', async () => {
    const worker = await sandbox.start();
    for (const type of ['pause', 'pause', 'resume', 'resume'] as const) await worker.command(type);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('listens on another port when the wanted one is in use, and keeps it while it is paused', async () => {
    const port = await takePort(0);
    const worker = await sandbox.start({ port });
    expect(worker.port).not.toBe(port);
    await worker.command('pause');
    await expect(worker.call('GET', '/alive')).rejects.toThrow();
    taken?.close();
    await takePort(worker.port);
    expect(taken?.listening).toBe(false);
    await worker.command('resume');
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('starts with a damaged log, does not change it, and warns', async () => {
    const damaged = path.join(sandbox.place.events, '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7.db');
    writeFileSync(
      damaged,
      'this is no database, and it is long enough to be looked at as one'.repeat(100),
    );
    const worker = await sandbox.start();
    expect(worker.notices.find((notice) => notice.type === 'warning')?.text).toMatch(
      /7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7/,
    );
    expect(readFileSync(damaged, 'utf8')).toContain('this is no database');
    expect((await worker.call('GET', '/api/conversations/count')).body).toBe(0);
  });

  it('has the pending action after a restart', async () => {
    let worker = await sandbox.start();
    await worker.startConversation([step.run('echo done > done; cat done'), step.finish()], {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      secrets: { TOKEN: 'hidden' },
    });
    await worker.untilStatus('waiting_for_confirmation');
    await worker.end();
    worker = await sandbox.start();
    expect(await worker.status()).toBe('waiting_for_confirmation');
    const accept = () =>
      worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, {
        accept: true,
      });
    await Promise.all([accept(), accept()]);
    await worker.untilStatus('finished');
    const events = await worker.events();
    expect(outputs(events)).toEqual(['done']);
    expect(outline(events).filter((word) => word === 'TerminalAction')).toHaveLength(1);
    expect((await worker.call('GET', `/api/conversations/${ID}`)).body).toMatchObject({
      secret_registry: { secret_sources: { TOKEN: { value: null } } },
    });
  });

  it('serves a finished conversation completely after a restart', async () => {
    let worker = await sandbox.start();
    const before = await worker.play([step.run('echo one'), step.finish('End.')]);
    await worker.end();
    worker = await sandbox.start();
    expect(await worker.events()).toEqual(before);
    expect(await worker.status()).toBe('finished');
  });
});

/** The state of a conversation whose run is in progress. */
const RUNNING = {
  conversation_id: 'a'.repeat(32),
  execution_status: 'running',
  title: null,
  created_at: '2026-01-01T00:00:00.000000Z',
  updated_at: '2026-01-01T00:00:00.000000Z',
  working_dir: '/',
  max_iterations: 10,
  confirmation_policy: { kind: 'NeverConfirm' },
  security_analyzer: null,
  model: 'replay',
  metrics: noMetrics('replay'),
  last_user_message_id: null,
  steps_done: 0,
  pending_action_id: null,
  tags: {},
} as const;

describe('a run on a full disk', () => {
  it('is in error at once, with nothing half written, and the conversation goes on when the disk has space', () => {
    const file = path.join(sandbox.place.events, 'a.db');
    const log = openEventLog(file);
    const other = new Database(file);
    other.exec(
      "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'database or " +
        "disk is full'); END",
    );
    const notices: ConversationNotice[] = [];
    const now = () => 1_800_000_000_000_000;
    const conversation = new Conversation(RUNNING, log, now, (notice) => notices.push(notice));
    expect(() => conversation.setStatus('error')).toThrow(/full/);
    conversation.breakOff();
    expect(conversation.state.execution_status).toBe('error');
    expect(notices).toMatchObject([{ execution_status: 'error' }]);
    expect(log.count()).toBe(0);
    other.exec('DROP TRIGGER full');
    other.close();
    conversation.setStatus('idle');
    expect([log.count(), log.read('state')?.execution_status]).toEqual([1, 'idle']);
    log.close();
  });
});
