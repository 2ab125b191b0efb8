import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { makePrivateDatabase } from '../../src/service/private-file.ts';
import { openStore } from '../../src/service/storage/index.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';

const db = folderOfEachTest();

it('the store belongs to its owner alone', () => {
  const file = path.join(db.path, 'service.db');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  const store = openStore(file);
  for (const name of readdirSync(db.path)) expect(statSync(path.join(db.path, name)).mode & 0o777).toBe(0o600);
  store.close();
});

it('a database that exists keeps its content, and what SQLite keeps beside it is restricted as well', () => {
  const file = path.join(db.path, 'a.db');
  const names = ['a.db', 'a.db-wal', 'a.db-shm'];
  for (const name of names) writeFileSync(path.join(db.path, name), `of ${name}`, { mode: 0o644 });
  makePrivateDatabase(file);
  const found = names.map((name) => {
    const each = path.join(db.path, name);
    return [statSync(each).mode & 0o777, readFileSync(each, 'utf8')];
  });
  expect(found).toEqual(names.map((name) => [0o600, `of ${name}`]));
});

it('a folder in the place of a database is refused', () => {
  const file = path.join(db.path, 'a.db');
  mkdirSync(file);
  expect(() => {
    makePrivateDatabase(file);
  }).toThrow(/EISDIR/);
});
