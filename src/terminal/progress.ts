/** A wait that a person watches: a spinner on a terminal, a line per change of state elsewhere. */
export interface Progress {
  update(text: string): void;
  /** Ends it, with a last line or silently. */
  done(text?: string): Promise<void>;
  fail(text?: string): Promise<void>;
}
