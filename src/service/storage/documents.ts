import type { Sql } from './database.ts';

/** Single JSON documents by name. An overwritten document is in no file of the database. */
export interface DocumentStore {
  read(name: string): unknown;
  write(name: string, value: unknown): void;
}

export function createDocumentStore(sql: Sql): DocumentStore {
  return {
    read(name) {
      const row = sql.get<{ body: string }>('SELECT body FROM documents WHERE name = ?', name);
      return row === undefined ? null : (JSON.parse(row.body) as unknown);
    },
    write(name, value) {
      sql.run(
        'INSERT OR REPLACE INTO documents (name, body) VALUES (?, ?)',
        name,
        JSON.stringify(value),
      );
      // They hold keys of models and tokens of git providers.
      sql.checkpoint();
    },
  };
}
