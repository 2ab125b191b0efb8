import type { View } from './view.ts';

/**
 * What commands write data with. Format, --fields, --output and safety are decided here, never in a command.
 * A format that makes no sense for the call throws `usage`; an unknown field throws `usage` and lists the known ones.
 */
export interface Emitter {
  /** Fails early, before any request, when the format or --fields do not fit. */
  check<T>(view: View<T> | null, kind: OutputKind): void;
  list<T>(view: View<T>, items: readonly T[], page: { has_more: boolean }): Promise<void>;
  item<T>(view: View<T>, item: T, extra?: Record<string, unknown>): Promise<void>;
  bulk(result: BulkResult): Promise<void>;
  /** One item of a stream as soon as it exists: a plain line, or one JSON object a line. */
  line<T>(view: View<T>, item: T): Promise<void>;
  /** An object of its own in a JSON stream, or nothing in plain text when `plain` is absent. */
  record(record: Record<string, unknown>, plain?: string): Promise<void>;
  /** Bytes as they are; made safe on a terminal. */
  raw(bytes: string | Uint8Array): Promise<void>;
  /** Ends the output: flushes, renames the temporary file of --output. */
  close(): Promise<void>;
  /** Drops the temporary file of --output. */
  abandon(): Promise<void>;
  /** The format in force. */
  readonly format: 'table' | 'tsv' | 'json' | 'ndjson' | 'id';
}

export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw';

export interface BulkItem {
  id: string;
  profile?: string;
  ok: boolean;
  changed: boolean;
  before: string | null;
  after: string | null;
  error: { code: string; message: string } | null;
}

export interface BulkResult {
  items: BulkItem[];
  matched: number;
  failed: number;
}
