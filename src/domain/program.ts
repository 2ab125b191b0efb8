export interface Program {
  /** Null: an interactive shell, which needs a terminal. */
  argv: readonly string[] | null;
  /** Null: the working directory of the sandbox. A relative path starts there. */
  cwd: string | null;
  env: Readonly<Record<string, string>>;
  /** Null: it runs without a pseudo-terminal. */
  terminal: TerminalSize | null;
}

export interface TerminalSize {
  columns: number;
  rows: number;
}

export const PROGRAM_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** `kill` ends the program with everything it started. */
export type ProgramControl =
  | { type: 'signal'; signal: (typeof PROGRAM_SIGNALS)[number] }
  | { type: 'resize'; size: TerminalSize }
  | { type: 'kill' };

export interface ProgramStreams {
  /** Null: the program reads nothing. It is read only as fast as the program takes it. */
  stdin: AsyncIterable<Uint8Array> | null;
  /** Resolves when the bytes are taken; the next ones wait for that. */
  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>;
  /** Controls from before are passed too. */
  onControl(listener: (control: ProgramControl) => void): void;
}
