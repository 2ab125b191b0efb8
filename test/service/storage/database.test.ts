import Database from 'libsql';
import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../../src/service/storage/database.ts';
import { describe, expect, it } from 'vitest';
import { numberedConversation, storeOfEachTest, TO_VERSION_5 } from './support.ts';

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

/** The schema that a version of the service wrote. A fixture is never changed. */
function createOldDatabase(file: string, version: 1 | 6): void {
  const fixture = path.join(import.meta.dirname, '../../fixtures/service-db');
  const database = new Database(file);
  database.exec(readFileSync(path.join(fixture, `version-${version}.sql`), 'utf8'));
  database.close();
}

/** Columns, indexes and triggers. A default is no part: SQLite requires one of an added column. */
function schemaOf(file: string): { parts: string[]; version: unknown } {
  const sql = openDatabase(file);
  const columns = sql.all<Record<'of' | 'name' | 'type' | 'notnull' | 'pk', string>>(
    `SELECT m.name AS "of", c.name, c.type, c."notnull", c.pk
       FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'`,
  );
  const others = sql.all<{ sql: string }>(
    `SELECT sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`,
  );
  const parts = [
    ...columns.map(({ of, name, type, notnull, pk }) => `${of}.${name} ${type} ${notnull} ${pk}`),
    ...others.map((other) => other.sql.replace(/\s+/g, ' ')),
  ];
  const version = sql.get('PRAGMA user_version');
  sql.close();
  // Version 4 left the table behind (database.ts).
  return { parts: parts.filter((part) => !part.includes('pending_')).sort(), version };
}

describe('a database of an older version', () => {
  it.each([1, 6] as const)('gets the schema of a new one from version %d', (version) => {
    const old = path.join(db.folder, 'old.db');
    createOldDatabase(old, version);
    const migrated = schemaOf(old);
    expect(migrated.parts.length).toBeGreaterThan(50);
    expect(migrated).toEqual(schemaOf(path.join(db.folder, 'new.db')));
  });

  it('migrates rows of version 2: which sandboxes ran without the requested isolation', () => {
    db.store.close();
    const older = new Database(db.file);
    older.exec(
      `${TO_VERSION_5} ALTER TABLE sandboxes DROP COLUMN isolation; ALTER TABLE sandboxes ` +
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
      `${TO_VERSION_5} ALTER TABLE start_tasks DROP COLUMN dialect;
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
    const before = newer.prepare('PRAGMA user_version').get() as { user_version: number };
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(() => openDatabase(db.file)).toThrow('it was written by a newer version (99)');
    const again = new Database(db.file);
    expect(again.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: 99 });
    again.exec(`PRAGMA user_version = ${before.user_version}`);
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
