/** Options of output: from the global flags, from the environment, and from commands that change many records. */
import type { Palette } from '../text/palette.ts';

export type Format = 'table' | 'tsv' | 'json' | 'ndjson' | 'id';

export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw';

export interface BulkItem {
  /** Null: a server that could not be asked; nothing was matched there. */
  id: string | null;
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

/** The part of the global flags that is about output. */
export interface EmitterSettings {
  format?: Format;
  fields?: readonly string[];
  output?: string;
  mode?: 'live' | 'dry-run';
}

export interface EmitterOptions {
  io: { stdout: EmitterStream; stderr: { write(chunk: string): Promise<void> } };
  globals: EmitterSettings;
  /** Folder that --output is relative to. */
  cwd?: string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Colours of stdout; asked for only for tables and plain lines. None: no colours. */
  palette?: () => Promise<Palette>;
  /** Applied to every text but raw bytes, as the last net for secrets in free text (`createRedactor(…).text`). */
  redact?: (text: string) => string;
  /** Whether all texts of the value went through `redact` before: then it is written as it is. */
  isRedacted?: (value: object) => boolean;
}

interface EmitterStream {
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  readonly columns: number | undefined;
}
