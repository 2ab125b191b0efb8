import type { Sql, SqlValue } from './database.ts';

export interface Table<Row extends { id: string }> {
  insert(row: Row): void;
  get(id: string): Row | null;
  /** Writes the members that are given; null clears one. */
  update(id: string, change: Partial<Row>): void;
  /** `rest`: what follows the name of the table: WHERE, ORDER BY, LIMIT. */
  select(rest: string, ...values: SqlValue[]): Row[];
  /**
   * Newest first, `from` the `created_at` of the last row before; a number is that of the rows
   * before.
   */
  page(conditions: Conditions, limit: number, from: string): Row[];
  count(rest: string, ...values: SqlValue[]): number;
  remove(id: string): boolean;
}

/** `json`: columns that hold JSON; `flags`: columns that hold 0 or 1. */
export function createTable<Row extends { id: string }>(
  sql: Sql,
  name: string,
  { json = [], flags = [] }: { json?: (keyof Row)[]; flags?: (keyof Row)[] } = {},
): Table<Row> {
  const columns = sql
    .all<{ name: string }>(`SELECT name FROM pragma_table_info('${name}')`)
    .map((column) => column.name);
  const toRow = (stored: Record<string, SqlValue>): Row => {
    const row: Record<string, unknown> = { ...stored };
    for (const column of json as string[]) {
      if (stored[column] !== null) row[column] = JSON.parse(String(stored[column])) as unknown;
    }
    for (const column of flags as string[])
      row[column] = stored[column] === null ? null : stored[column] === 1;
    return row as Row;
  };
  const toSql = (value: unknown): SqlValue => {
    if (value === null || typeof value === 'string' || typeof value === 'number') return value;
    return typeof value === 'boolean' ? Number(value) : JSON.stringify(value);
  };
  const given = (members: Record<string, unknown>) =>
    columns.filter((column) => members[column] !== undefined);
  const select = (rest: string, ...values: SqlValue[]) =>
    sql.all<Record<string, SqlValue>>(`SELECT * FROM ${name} ${rest}`, ...values).map(toRow);
  return {
    insert(row) {
      const names = given(row);
      const marks = names.map(() => '?').join(', ');
      const values = names.map((column) => toSql(row[column as keyof Row]));
      sql.run(`INSERT INTO ${name} (${names.join(', ')}) VALUES (${marks})`, ...values);
    },
    get(id) {
      const found = sql.get<Record<string, SqlValue>>(`SELECT * FROM ${name} WHERE id = ?`, id);
      return found === undefined ? null : toRow(found);
    },
    update(id, change) {
      const names = given(change);
      if (names.length === 0) return;
      const values = names.map((column) => toSql(change[column as keyof Row]));
      sql.run(
        `UPDATE ${name} SET ${names.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`,
        ...values,
        id,
      );
    },
    select,
    page(conditions, limit, from) {
      const offset = Number(from);
      const { clause, values } = where({
        ...conditions,
        '? > created_at': Number.isNaN(offset) ? from : undefined,
      });
      const rest = `${clause} ORDER BY created_at DESC LIMIT ? OFFSET ?`;
      return select(rest, ...values, limit, offset || 0);
    },
    count: (rest, ...values) =>
      sql.get<{ n: number }>(`SELECT count(*) AS n FROM ${name} ${rest}`, ...values)?.n ?? 0,
    remove: (id) => sql.run(`DELETE FROM ${name} WHERE id = ?`, id) > 0,
  };
}

type Conditions = Record<string, SqlValue | undefined>;

/** A WHERE clause of the conditions whose value is given; each has one `?`. */
export function where(conditions: Conditions): { clause: string; values: SqlValue[] } {
  const given = Object.entries(conditions).filter(
    (entry): entry is [string, SqlValue] => entry[1] !== undefined,
  );
  const clause =
    given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`;
  return { clause, values: given.map(([, value]) => value) };
}
