import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import { conversationRow } from '../../support/conversation-row.ts';

let dir: string;
let store: Store;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-store-'));
  store = openStore(path.join(dir, 'service.db'));
});
afterEach(() => {
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

function row(number: number): ConversationRow {
  const stamp = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString().replace('Z', '000Z');
  return conversationRow({
    id: `f${number.toString(16).padStart(31, '0')}`,
    dialect: number % 2 === 0 ? 'V0' : 'V1',
    title: `Conversation ${number}`,
    parent_id: number % 10 === 9 ? `f${(number - 1).toString(16).padStart(31, '0')}` : null,
    repository: number % 2 === 0 ? 'a/b' : null,
    pr_number: [number],
    extras: { number },
    created_at: stamp,
  });
}

describe('the store', () => {
  it('returns what was written, also after it was reopened', () => {
    store.conversations.insert({ ...row(1), public: false });
    store.conversations.update(row(1).id, { title: null, public: true });
    store.secrets.put('A', 'value', 'first');
    store.documents.write('settings', { deep: [1, null, { x: 'ü' }] });
    store.close();
    store = openStore(path.join(dir, 'service.db'));
    expect(store.conversations.get(row(1).id)).toEqual({ ...row(1), title: null, public: true });
    expect(store.secrets.list()).toEqual([{ name: 'A', description: 'first' }]);
    expect(store.secrets.get('A')).toEqual({ name: 'A', description: 'first' });
    expect(store.secrets.values()).toEqual({ A: 'value' });
    expect(store.documents.read('settings')).toEqual({ deep: [1, null, { x: 'ü' }] });
  });

  it('keeps no value of a secret on disk once it was replaced or removed', () => {
    const held = (value: string): string[] =>
      readdirSync(dir).filter((name) => readFileSync(path.join(dir, name)).includes(value));
    store.secrets.put('A', 'the-first-value', '');
    store.secrets.put('B', 'another-value', '');
    expect([held('the-first-value').length, held('another-value').length]).not.toContain(0);
    store.secrets.put('A', 'the-second-value', '');
    expect(held('the-first-value')).toEqual([]);
    store.secrets.remove('A');
    store.secrets.remove('B');
    store.documents.write('git_providers', { github: { token: 'a-provider-token' } });
    store.documents.write('git_providers', {});
    expect(held('a-provider-token')).toEqual([]);
    expect([held('the-second-value'), held('another-value')]).toEqual([[], []]);
  });

  it('pages through 5,000 conversations, newest first, each once', () => {
    store.transaction(() => {
      for (let number = 0; number < 5000; number++) store.conversations.insert(row(number));
    });
    expect(store.conversations.count({})).toBe(5000);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 100) {
      const page = store.conversations.page({}, 100, offset);
      if (page.length === 0) break;
      seen.push(...page.map((each) => each.id));
    }
    expect(seen).toHaveLength(5000);
    expect(new Set(seen).size).toBe(5000);
    expect(seen[0]).toBe(row(4999).id);
    expect(store.conversations.count({ topLevelOnly: true })).toBe(4500);
    expect(store.conversations.count({ repository: 'a/b' })).toBe(2500);
    expect(store.conversations.count({ titleContains: 'conversation 499' })).toBe(11);
    expect(store.conversations.count({ createdGte: row(4990).created_at })).toBe(10);
    expect(store.conversations.count({ createdLt: row(10).created_at })).toBe(10);
    expect(store.conversations.childrenOf(row(8).id)).toEqual([row(9).id]);
  });

  it('rolls back a transaction that fails', () => {
    const fails = (): void => {
      store.transaction(() => {
        store.secrets.put('A', 'x', '');
        throw new Error('no');
      });
    };
    expect(fails).toThrow('no');
    expect(store.secrets.list()).toEqual([]);
  });

  it('counts a conversation as running only while its sandbox runs', () => {
    const sandbox = {
      id: 's',
      spec_id: 'process',
      isolation: 'process' as const,
      status: 'RUNNING' as const,
      status_detail: null,
      session_api_key: 'k',
      port: null,
      working_dir: null,
      worker_pid: null,
      worker_start: null,
      created_at: '',
      last_active_at: '',
    };
    store.sandboxes.insert(sandbox);
    store.conversations.insert({ ...row(1), sandbox_id: 's', execution_status: 'running' });
    expect(store.conversations.isAnyRunning()).toBe(true);
    store.sandboxes.update('s', { status: 'PAUSED' });
    expect(store.conversations.isAnyRunning()).toBe(false);
  });

  it('migrates rows of version 2: which sandboxes ran without the requested isolation', () => {
    store.close();
    const older = new Database(path.join(dir, 'service.db'));
    older.exec('ALTER TABLE sandboxes DROP COLUMN isolation');
    const insert = older.prepare(
      `INSERT INTO sandboxes (id, spec_id, status, session_api_key, working_dir, created_at, last_active_at)
       VALUES (?, ?, 'PAUSED', 'key', ?, '', '')`,
    );
    insert.run('isolated', 'bubblewrap', '/workspace/project');
    insert.run('offline', 'bubblewrap-offline', '/workspace/project');
    insert.run('never-ran', 'bubblewrap', null);
    insert.run('fell-back', 'bubblewrap', '/data/workspaces/fell-back');
    insert.run('plain', 'process', '/data/workspaces/plain');
    older.exec('PRAGMA user_version = 2');
    older.close();
    store = openStore(path.join(dir, 'service.db'));
    expect(Object.fromEntries(store.sandboxes.all().map(({ id, isolation }) => [id, isolation]))).toEqual({
      isolated: 'bubblewrap',
      offline: 'bubblewrap-offline',
      'never-ran': 'bubblewrap',
      'fell-back': 'process',
      plain: 'process',
    });
  });

  it('opens a database of an older version, with the start tasks of V0 marked', () => {
    store.conversations.insert(row(0));
    store.conversations.insert(row(1));
    store.close();
    const older = new Database(path.join(dir, 'service.db'));
    older.exec('ALTER TABLE start_tasks DROP COLUMN dialect; ALTER TABLE sandboxes DROP COLUMN isolation');
    const insert = older.prepare(
      `INSERT INTO start_tasks (id, status, conversation_id, request, created_at, updated_at)
       VALUES (?, 'READY', ?, '{}', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z')`,
    );
    insert.run('of-v0', row(0).id);
    insert.run('of-v1', row(1).id);
    older.exec('PRAGMA user_version = 1');
    older.close();
    for (const time of ['first', 'second']) {
      store = openStore(path.join(dir, 'service.db'));
      expect([time, store.startTasks.get('of-v0')?.dialect]).toEqual([time, 'V0']);
      expect(store.startTasks.page({ dialect: 'V1' }, 'CREATED_AT', 10, 0).map(({ id }) => id)).toEqual(['of-v1']);
      expect(store.conversations.count({ dialect: 'V0' })).toBe(1);
      if (time === 'first') store.close();
    }
  });
});
