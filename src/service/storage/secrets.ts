import type { Sql } from './database.ts';

interface SecretName {
  name: string;
  description: string;
}

/** The user's secrets. A value that was replaced or removed is in no file of the database. */
export class SecretStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  list(): SecretName[] {
    return this.#sql.all('SELECT name, description FROM secrets ORDER BY name');
  }

  values(): Record<string, string> {
    const rows = this.#sql.all<{ name: string; value: string }>('SELECT name, value FROM secrets');
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  get(name: string): SecretName | null {
    return this.#sql.get('SELECT name, description FROM secrets WHERE name = ?', name) ?? null;
  }

  /** Keeps the description of one that exists. */
  put(name: string, value: string, description: string): void {
    const upsert = `INSERT INTO secrets (name, value, description) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
    this.#sql.run(upsert, name, value, description);
    this.#sql.checkpoint();
  }

  rename(name: string, newName: string, description: string): void {
    const update = 'UPDATE secrets SET name = ?, description = ? WHERE name = ?';
    this.#sql.run(update, newName, description, name);
  }

  remove(name: string): boolean {
    const isRemoved = this.#sql.run('DELETE FROM secrets WHERE name = ?', name) > 0;
    this.#sql.checkpoint();
    return isRemoved;
  }
}
