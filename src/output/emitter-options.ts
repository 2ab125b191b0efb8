/** Options of the emitter: from the global flags and from the environment. */
import type { Palette } from '../text/palette.ts';

export type Format = 'table' | 'tsv' | 'json' | 'ndjson' | 'id';

/** `document`: raw bytes, or JSON with --json. */
export type OutputKind = 'list' | 'item' | 'bulk' | 'stream' | 'raw' | 'document';

/** The part of the global flags that is about output. */
export interface EmitterSettings {
  format?: Format;
  fields?: readonly string[];
  jq?: string;
  output?: string;
  mode?: 'live' | 'dry-run';
}

export interface EmitterOptions {
  io: { stdout: EmitterStream; stderr: { write(chunk: string): Promise<void> } };
  globals: EmitterSettings;
  /** Of --jq: the file of the thread that runs it, and what ends it. */
  jq?: { file: string; signal: AbortSignal };
  /** Folder that --output is relative to. */
  cwd?: string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Colours of stdout; called only for tables and plain lines. None: no colours. */
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
