import Database from 'libsql';
import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../../src/service/storage/database.ts';
import { describe, expect, it } from 'vitest';
import { numberedConversation, storeOfEachTest, WITHOUT_COUNTS } from './support.ts';

const db = storeOfEachTest();

it('a transaction that does not fit on the disk reports a full disk, and the next one works', () => {
  const sql = openDatabase(db.file);
  const fill = (size: number): void => {
    sql.transaction(() =>
      sql.run('INSERT OR REPLACE INTO documents VALUES (?, ?)', 'x', 'y'.repeat(size)),
    );
  };
  sql.get('PRAGMA max_page_count = 60');
  expect(() => fill(1_000_000)).toThrow(/full/);
  fill(10);
  expect(sql.all('SELECT body FROM documents')).toMatchObject([{ body: 'y'.repeat(10) }]);
  sql.close();
});

it('a transaction that continues after a full disk is not reported as written', () => {
  const sql = openDatabase(db.file);
  expect(() =>
    sql.transaction(() => {
      sql.run('INSERT INTO documents VALUES (?, ?)', 'a', 'b');
      sql.run('ROLLBACK'); // what the database does itself when there is no room
    }),
  ).toThrow(/full/);
  expect(sql.all('SELECT * FROM documents')).toEqual([]);
  sql.close();
});

describe('a database of an older version', () => {
  it('migrates rows of version 2: which sandboxes ran without the requested isolation', () => {
    db.store.close();
    const older = new Database(db.file);
    older.exec(
      `${WITHOUT_COUNTS} ALTER TABLE sandboxes DROP COLUMN isolation; ALTER TABLE sandboxes ` +
        'DROP COLUMN fell_back',
    );
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
    db.open();
    const migrated = db.store.sandboxes.all();
    expect(Object.fromEntries(migrated.map(({ id, isolation }) => [id, isolation]))).toEqual({
      isolated: 'bubblewrap',
      offline: 'bubblewrap-offline',
      'never-ran': 'bubblewrap',
      'fell-back': 'process',
      plain: 'process',
    });
    const open = migrated.filter(({ fell_back: fellBack }) => fellBack).map(({ id }) => id);
    expect(open.sort()).toEqual(['fell-back', 'plain']);
  });

  it('opens a database of an older version, with the start tasks of V0 marked', () => {
    db.store.conversations.insert(numberedConversation(0));
    db.store.conversations.insert(numberedConversation(1));
    db.store.close();
    const older = new Database(db.file);
    older.exec(
      `${WITHOUT_COUNTS} ALTER TABLE start_tasks DROP COLUMN dialect;
       ALTER TABLE sandboxes DROP COLUMN isolation; ALTER TABLE sandboxes DROP COLUMN fell_back`,
    );
    const insert = older.prepare(
      `INSERT INTO start_tasks (id, status, conversation_id, request, created_at, updated_at)
       VALUES (?, 'READY', ?, '{}', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z')`,
    );
    insert.run('of-v0', numberedConversation(0).id);
    insert.run('of-v1', numberedConversation(1).id);
    older.exec('PRAGMA user_version = 1');
    older.close();
    for (const time of ['first', 'second']) {
      db.open();
      expect([time, db.store.startTasks.get('of-v0')?.dialect]).toEqual([time, 'V0']);
      expect(
        db.store.startTasks.page({ dialect: 'V1' }, 'CREATED_AT', 10, 0).map(({ id }) => id),
      ).toEqual(['of-v1']);
      expect(db.store.conversations.count({ dialect: 'V0' })).toBe(1);
      if (time === 'first') db.store.close();
    }
  });
});

describe('a file that is refused', () => {
  it('was written by a newer version, and is left as it is', () => {
    db.store.close();
    const newer = new Database(db.file);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(() => openDatabase(db.file)).toThrow('it was written by a newer version (99)');
    const again = new Database(db.file);
    expect(again.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: 99 });
    again.exec('PRAGMA user_version = 6');
    again.close();
    db.open();
  });

  it('is no database, and is left as it is', () => {
    const file = path.join(db.folder, 'notes.txt');
    const text =
      'The text of somebody, long enough to be read as the first page of a database. '.repeat(9);
    writeFileSync(file, text);
    expect(() => openDatabase(file)).toThrow(/not a database/);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});
