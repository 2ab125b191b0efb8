import type { Sql } from './database.ts';

/** Single JSON documents by name. An overwritten document is in no file of the database. */
export class DocumentStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(name: string): unknown {
    const row = this.#sql.get<{ body: string }>('SELECT body FROM documents WHERE name = ?', name);
    return row === undefined ? null : (JSON.parse(row.body) as unknown);
  }

  write(name: string, value: unknown): void {
    const insert = 'INSERT OR REPLACE INTO documents (name, body) VALUES (?, ?)';
    this.#sql.run(insert, name, JSON.stringify(value));
    // They hold keys of models and tokens of git providers.
    this.#sql.checkpoint();
  }
}
