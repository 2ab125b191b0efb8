import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createNoticeKeeper } from '../../../src/service/app/notices.ts';
import { newConversation } from '../../../src/service/app/start-plan.ts';
import { startFromV1 } from '../../../src/service/app/start-request.ts';
import { openStore } from '../../../src/service/store/index.ts';
import { openDatabase } from '../../../src/service/store/database.ts';
import { appConversationStart } from '../../../src/protocol/v1/requests.ts';
import { check } from '../../../src/protocol/detail.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'acs-full-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

it('a transaction that the disk has no room for is told as that, and the next one works', () => {
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
  openStore(path.join(folder, 'service.db')).close();
  expect(statSync(path.join(folder, 'service.db')).mode & 0o777).toBe(0o600);
});

it('what a worker told while there was no room is written when there is', () => {
  const store = openStore(path.join(folder, 'service.db'));
  const id = 'a'.repeat(32);
  const body = check(appConversationStart, { replay_json: 'demo' }, 'body');
  if (!body.ok) throw new Error('the request is refused');
  const request = startFromV1(body.value, { settings: null, defaultSpec: 'process' });
  store.conversations.insert(newConversation(id, request, 'ready', '2026-01-01T00:00:00.000000Z'));
  const said: string[] = [];
  const forget = { forget: () => undefined } as unknown as Parameters<typeof createNoticeKeeper>[1];
  const keeper = createNoticeKeeper(store, forget, (line) => said.push(line));
  const { update } = store.conversations;
  store.conversations.update = () => {
    throw new Error('database or disk is full');
  };
  keeper.hear('sandbox', {
    type: 'conversation',
    conversation_id: id,
    execution_status: 'error',
    title: null,
    metrics: { accumulated_cost: 1 } as never,
    updated_at: '2026-01-01T00:00:01.000000Z',
    deleted: false,
  });
  expect(said).toEqual([expect.stringContaining('disk is full')]);
  expect(store.conversations.get(id)?.execution_status).toBeNull();
  store.conversations.update = update;
  keeper.close();
  expect(store.conversations.get(id)).toMatchObject({ execution_status: 'error' });
  store.close();
});
