import type { Sql, SqlValue } from './database.ts';

type Stored = Record<string, SqlValue>;
type Conditions = Record<string, SqlValue | undefined>;

export class Table<Row extends { id: string }> {
  protected readonly sql: Sql;
  readonly #name: string;
  readonly #columns: string[];
  readonly #json: string[];
  readonly #flags: string[];

  /** `json`: columns that hold JSON; `flags`: columns that hold 0 or 1. */
  constructor(sql: Sql, name: string, { json = [] as string[], flags = [] as string[] } = {}) {
    this.sql = sql;
    this.#name = name;
    this.#json = json;
    this.#flags = flags;
    this.#columns = sql
      .all<{ name: string }>(`SELECT name FROM pragma_table_info('${name}')`)
      .map((column) => column.name);
  }

  insert(row: Row): void {
    const [names, values] = this.#toSql(row);
    const marks = names.map(() => '?').join(', ');
    this.sql.run(`INSERT INTO ${this.#name} (${names.join(', ')}) VALUES (${marks})`, ...values);
  }

  get(id: string | null): Row | null {
    const [row = null] = id === null ? [] : this.select('WHERE id = ?', id);
    return row;
  }

  /** Writes the members that are given; null clears one. Throws for one without a column. */
  update(id: string, change: Partial<Row>): void {
    const [names, values] = this.#toSql(change);
    if (names.length === 0) return;
    const assignments = names.map((name) => `${name} = ?`).join(', ');
    this.sql.run(`UPDATE ${this.#name} SET ${assignments} WHERE id = ?`, ...values, id);
  }

  remove(id: string): boolean {
    return this.sql.run(`DELETE FROM ${this.#name} WHERE id = ?`, id) > 0;
  }

  /** `rest`: what follows the name of the table: WHERE, ORDER BY, LIMIT. */
  protected select(rest: string, ...values: SqlValue[]): Row[] {
    const rows = this.sql.all<Stored>(`SELECT * FROM ${this.#name} ${rest}`, ...values);
    return rows.map((stored) => this.#toRow(stored));
  }

  /** Newest first. `from`: the `created_at` of the row before, or the number of rows before. */
  protected newest(conditions: Conditions, limit: number, from: string): Row[] {
    const offset = Number(from);
    const before = Number.isNaN(offset) ? from : undefined;
    const { clause, values } = where({ ...conditions, '? > created_at': before });
    const rest = `${clause} ORDER BY created_at DESC LIMIT ? OFFSET ?`;
    return this.select(rest, ...values, limit, offset || 0);
  }

  protected countRows(rest: string, ...values: SqlValue[]): number {
    const text = `SELECT count(*) AS n FROM ${this.#name} ${rest}`;
    return this.sql.get<{ n: number }>(text, ...values)?.n ?? 0;
  }

  #toRow(stored: Stored): Row {
    const row: Record<string, unknown> = { ...stored };
    for (const name of this.#json) {
      if (stored[name] !== null) row[name] = JSON.parse(String(stored[name])) as unknown;
    }
    for (const name of this.#flags) {
      if (stored[name] !== null) row[name] = stored[name] === 1;
    }
    return row as Row;
  }

  #toSql(members: object): [names: string[], values: SqlValue[]] {
    const entries = Object.entries(members).filter(([, value]) => value !== undefined);
    const unknown = entries.find(([name]) => !this.#columns.includes(name));
    if (unknown !== undefined) throw new Error(`${this.#name} has no column '${unknown[0]}'`);
    const encode = (value: unknown): SqlValue => {
      if (typeof value === 'boolean') return Number(value);
      return typeof value === 'object' && value !== null
        ? JSON.stringify(value)
        : (value as SqlValue);
    };
    return [entries.map(([name]) => name), entries.map(([, value]) => encode(value))];
  }
}

/** A WHERE clause of the conditions that have a value; each has one `?`. */
export function where(conditions: Conditions): { clause: string; values: SqlValue[] } {
  const entries = Object.entries(conditions).filter(
    (entry): entry is [string, SqlValue] => entry[1] !== undefined,
  );
  const clause = entries.map(([condition]) => condition).join(' AND ');
  return { clause: clause && `WHERE ${clause}`, values: entries.map(([, value]) => value) };
}
