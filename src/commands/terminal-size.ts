import type { OutputStream } from '../context.ts';
import type { TerminalSize } from '../domain/program.ts';

/** Of a terminal that does not report its size. */
const UNKNOWN_SIZE: TerminalSize = { columns: 80, rows: 24 };

export function sizeOf({ columns, rows }: Pick<OutputStream, 'columns' | 'rows'>): TerminalSize {
  return { columns: columns ?? UNKNOWN_SIZE.columns, rows: rows ?? UNKNOWN_SIZE.rows };
}
