import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import type { ConversationState } from '../../../src/service/storage/conversation-state.ts';
import { eventLogFile, openEventLog } from '../../../src/service/storage/event-log.ts';
import { createClock } from '../../../src/service/lifecycle/clock.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { isAlive, startOf } from '../../../src/service/lifecycle/process.ts';
import { recover } from '../../../src/service/lifecycle/recover.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import { conversationRow } from '../../support/conversation-row.ts';

let dir: string;
let store: Store;
let child: ReturnType<typeof spawn>;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-recover-'));
  store = openStore(dataPaths(dir).database);
  child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
});
afterEach(() => {
  child.kill('SIGKILL');
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

function afterCrash(worker_pid: number, worker_start: string | null): string {
  const clock = createClock();
  const row = newSandbox('process', clock.stamp());
  store.sandboxes.insert({ ...row, status: 'RUNNING', worker_pid, worker_start });
  recover({ store, paths: dataPaths(dir), clock, log: () => undefined });
  return row.id;
}

describe('after a crash', () => {
  const pid = (): number => child.pid ?? 0;

  it('ends the remaining worker, and stores its sandbox as paused', async () => {
    const ended = once(child, 'exit');
    const id = afterCrash(pid(), startOf(pid()));
    await ended;
    expect(store.sandboxes.get(id)).toMatchObject({ status: 'PAUSED', worker_pid: null });
  });

  it.each([
    ['of another start', pid, '1'],
    ['of no known start', pid, null],
    ['of every process there is', () => -1, null],
  ])('ends no process by a pid %s', (_what, number, start) => {
    const id = afterCrash(number(), start);
    expect(isAlive({ pid: pid(), start: null })).toBe(true);
    expect(store.sandboxes.get(id)).toMatchObject({ status: 'PAUSED', worker_pid: null });
  });

  it('reads the ends of runs from the logs of a failed sandbox when the service was killed before it stored them', () => {
    const stamp = createClock().stamp();
    const row = newSandbox('process', stamp);
    store.sandboxes.insert({ ...row, status: 'ERROR' });
    const conversation = conversationRow({
      id: 'c'.repeat(32),
      sandbox_id: row.id,
      execution_status: 'running',
      created_at: stamp,
    });
    store.conversations.insert(conversation);
    const logs = path.join(dataPaths(dir).events, row.id);
    mkdirSync(logs, { recursive: true });
    const log = openEventLog(eventLogFile(logs, conversation.id));
    log.writeState({ conversation_id: conversation.id, execution_status: 'error' } as ConversationState);
    log.close();
    recover({ store, paths: dataPaths(dir), clock: createClock(), log: () => undefined });
    expect(store.conversations.get(conversation.id)).toMatchObject({ execution_status: 'error' });
  });

  it('removes workspaces of sandboxes that were never stored, and no folder with another name', () => {
    const { workspaces } = dataPaths(dir);
    const orphan = path.join(workspaces, newSandbox('process', '').id);
    const foreign = path.join(workspaces, 'my thesis');
    for (const folder of [orphan, foreign]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path.join(folder, 'file'), 'x');
    }
    recover({ store, paths: dataPaths(dir), clock: createClock(), log: () => undefined });
    expect([orphan, foreign].map((folder) => existsSync(folder))).toEqual([false, true]);
  });
});
