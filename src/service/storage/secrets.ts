import type { Sql } from './database.ts';

/** A secret without its value. */
export interface SecretName {
  name: string;
  description: string;
}

/** The user's own secrets, by environment name. A value that was replaced or removed is in no file of the database. */
export interface SecretStore {
  /** In the order of names. */
  list(): SecretName[];
  values(): Record<string, string>;
  get(name: string): SecretName | null;
  /** Keeps the description of one that exists. True when it is new. */
  put(name: string, value: string, description: string): boolean;
  rename(name: string, newName: string, description: string): void;
  remove(name: string): boolean;
}

export function createSecretStore(sql: Sql): SecretStore {
  const get = (name: string): SecretName | null =>
    sql.get<SecretName>('SELECT name, description FROM secrets WHERE name = ?', name) ?? null;
  return {
    list: () => sql.all<SecretName>('SELECT name, description FROM secrets ORDER BY name'),
    values() {
      const rows = sql.all<{ name: string; value: string }>('SELECT name, value FROM secrets');
      return Object.fromEntries(rows.map((row) => [row.name, row.value]));
    },
    get,
    put(name, value, description) {
      const isNew = get(name) === null;
      if (isNew) sql.run('INSERT INTO secrets (name, value, description) VALUES (?, ?, ?)', name, value, description);
      else {
        sql.run('UPDATE secrets SET value = ? WHERE name = ?', value, name);
        sql.checkpoint();
      }
      return isNew;
    },
    rename(name, newName, description) {
      sql.run('UPDATE secrets SET name = ?, description = ? WHERE name = ?', newName, description, name);
    },
    remove(name) {
      const isRemoved = sql.run('DELETE FROM secrets WHERE name = ?', name) > 0;
      sql.checkpoint();
      return isRemoved;
    },
  };
}
