/** A Node stream over the writer of a context, for libraries that expect a terminal of Node. */
import { Writable } from 'node:stream';

export interface TerminalWriter {
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly rows?: number | undefined;
}

/** What inquirer uses of tty.WriteStream. */
export class TerminalStream extends Writable {
  readonly #writer: TerminalWriter;
  #last: Promise<void> = Promise.resolve();

  readonly #colors: 'colors' | 'no-colors';

  /** @param colors without them, the colours of libraries that ignore the environment are removed */
  constructor(writer: TerminalWriter, colors: 'colors' | 'no-colors') {
    super();
    this.#writer = writer;
    this.#colors = colors;
  }

  get isTTY(): boolean {
    return this.#writer.isTTY;
  }

  get columns(): number {
    return this.#writer.columns || 80; // 0: a terminal that does not know
  }

  /**
   * Passes the chunk on synchronously, without the queue of Writable. A closed reader is reported by the writes of
   * data; a question ignores it.
   */
  override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
    const text = typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk : String(chunk);
    const callback = [encoding, done].find((argument) => typeof argument === 'function') as (() => void) | undefined;
    this.#last = this.#writer.write(this.#colors === 'colors' ? text : withoutColors(text)).then(
      () => callback?.(),
      () => callback?.(),
    );
    return true;
  }

  cursorTo(column: number): boolean {
    return this.write(`\x1b[${column + 1}G`);
  }

  moveCursor(columns: number, rows: number): boolean {
    const sideways = columns === 0 ? '' : `\x1b[${Math.abs(columns)}${columns > 0 ? 'C' : 'D'}`;
    const upright = rows === 0 ? '' : `\x1b[${Math.abs(rows)}${rows > 0 ? 'B' : 'A'}`;
    return this.write(sideways + upright);
  }

  /** As Node has it: -1 to the left, 1 to the right, 0 the whole line. */
  clearLine(direction: -1 | 0 | 1): boolean {
    return this.write(direction === 0 ? '\x1b[2K' : direction === 1 ? '\x1b[0K' : '\x1b[1K');
  }

  /** Resolves when all that was written has left. */
  drained(): Promise<void> {
    return this.#last;
  }
}

function withoutColors(chunk: string | Uint8Array): string | Uint8Array {
  return typeof chunk === 'string'
    ? chunk.replace(/\x1b\[[\d;]*m/g, '')
    : withoutColors(Buffer.from(chunk).toString('utf8'));
}
