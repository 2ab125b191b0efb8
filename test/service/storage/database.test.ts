import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createNoticeKeeper } from '../../../src/service/app/conversation-notices.ts';
import { newConversation } from '../../../src/service/app/starts/start-plan.ts';
import { startFromV1 } from '../../../src/service/app/starts/start-request.ts';
import { openStore } from '../../../src/service/storage/index.ts';
import { openDatabase, type Sql } from '../../../src/service/storage/database.ts';
import { createSandboxStore } from '../../../src/service/storage/sandboxes.ts';
import { createSandboxStatusWriter } from '../../../src/service/sandboxes/status-writer.ts';
import { specChoice } from '../../../src/service/sandboxes/specs.ts';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { until } from '../app/support.ts';
import { appConversationStart } from '../../../src/protocol/v1/requests.ts';
import { check } from '../../../src/protocol/detail.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'acs-full-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

it('a transaction that does not fit on the disk reports a full disk, and the next one works', () => {
  const sql = openDatabase(path.join(folder, 'service.db'));
  const fill = (size: number): void => {
    sql.transaction(() => sql.run('INSERT OR REPLACE INTO documents VALUES (?, ?)', 'x', 'y'.repeat(size)));
  };
  sql.get('PRAGMA max_page_count = 60');
  expect(() => fill(1_000_000)).toThrow(/full/);
  fill(10);
  expect(sql.all('SELECT body FROM documents')).toMatchObject([{ body: 'y'.repeat(10) }]);
  sql.close();
});

it('the store belongs to its owner alone', () => {
  const file = path.join(folder, 'service.db');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  const store = openStore(file);
  for (const name of readdirSync(folder)) expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600);
  store.close();
});

it('states that a worker reports while the disk is full are written when there is space', () => {
  const store = openStore(path.join(folder, 'service.db'));
  const id = 'a'.repeat(32);
  const body = check(appConversationStart, { replay_json: 'demo' }, 'body');
  if (!body.ok) throw new Error('the request is refused');
  const request = startFromV1(body.value, { settings: null, specs: specChoice('process', null), defaultReplay: null });
  store.conversations.insert(newConversation(id, request, 'ready', '2026-01-01T00:00:00.000000Z'));
  const said: string[] = [];
  const forget = { forget: () => undefined } as unknown as Parameters<typeof createNoticeKeeper>[1];
  const keeper = createNoticeKeeper(store, forget, (line) => said.push(line));
  const { update } = store.conversations;
  store.conversations.update = () => {
    throw new Error('database or disk is full');
  };
  keeper.keep('sandbox', {
    type: 'conversation',
    conversation_id: id,
    execution_status: 'error',
    title: null,
    metrics: { accumulated_cost: 1 } as never,
    updated_at: '2026-01-01T00:00:01.000000Z',
    deleted: false,
  });
  expect(said).toEqual([expect.stringContaining('disk is full')]);
  expect(store.conversations.get(id)?.execution_status).toBe('error'); // counts already
  store.conversations.update = update;
  keeper.close();
  expect(store.conversations.get(id)).toMatchObject({ execution_status: 'error' });
  store.close();
});

it('a transaction that continues after a full disk is not reported as written', () => {
  const sql = openDatabase(path.join(folder, 'service.db'));
  expect(() =>
    sql.transaction(() => {
      sql.run('INSERT INTO documents VALUES (?, ?)', 'a', 'b');
      sql.run('ROLLBACK'); // what the database does itself when there is no room
    }),
  ).toThrow(/full/);
  expect(sql.all('SELECT * FROM documents')).toEqual([]);
  sql.close();
});

it('the status of a sandbox is effective at once and written as soon as the disk has space', async () => {
  const file = path.join(folder, 'service.db');
  const sql = openDatabase(file);
  const disk = { isFull: false };
  const run: Sql['run'] = (...given) => {
    if (disk.isFull) throw new Error('database or disk is full');
    return sql.run(...given);
  };
  const sandboxes = createSandboxStore({ ...sql, run });
  const row = newSandbox('process', '2026-01-01T00:00:00.000000Z');
  sandboxes.insert(row);
  const statuses = createSandboxStatusWriter(sandboxes, () => undefined);
  disk.isFull = true;
  statuses.write(row.id, { status: 'RUNNING', port: 1234 });
  statuses.write(row.id, { status: 'PAUSED' });
  expect(sandboxes.get(row.id)).toMatchObject({ status: 'PAUSED', port: 1234 });
  expect(sandboxes.all()).toMatchObject([{ status: 'PAUSED' }]);
  expect(sandboxes.page(10, 0)).toMatchObject([{ status: 'PAUSED' }]);
  expect(() => sandboxes.update(row.id, { status: 'STARTING' })).toThrow(/full/);
  expect(sandboxes.get(row.id)?.status).toBe('PAUSED');
  disk.isFull = false;
  await until(
    () => sql.get<{ status: string; port: number }>('SELECT status, port FROM sandboxes'),
    (stored) => stored?.status === 'PAUSED' && stored.port === 1234,
  );
  statuses.close();
  sql.close();
});
