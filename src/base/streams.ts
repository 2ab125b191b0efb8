export interface OutputStream {
  /** Resolves when the stream has taken the bytes; rejects (141) when the reader is gone. */
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Columns of a terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  readonly rows?: number | undefined;
  onResize?(listener: () => void): () => void;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** A pipe or a file, as after `|` and `<` in a shell; whether it has bytes is not known. */
  readonly isPiped?: boolean;
  /** Throws `usage` on a second reader. */
  readAll(limitBytes?: number): Promise<Uint8Array>;
  readonly raw: NodeJS.ReadableStream;
  rawMode?(): () => void;
}

export interface Io {
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
}
