import { Writable } from 'node:stream';
import type { Io, OutputStream } from '../base/streams.ts';

export class TerminalStream extends Writable {
  readonly #writer: OutputStream;
  readonly #colors: 'colors' | 'no-colors';
  #last: Promise<void> = Promise.resolve();

  /** `no-colors`: the colours of libraries that ignore the environment are removed. */
  constructor(writer: OutputStream, colors: 'colors' | 'no-colors') {
    super({ decodeStrings: false });
    this.#writer = writer;
    this.#colors = colors;
  }

  get isTTY(): boolean {
    return this.#writer.isTTY;
  }

  get columns(): number {
    return this.#writer.columns || 80; // 0: a terminal that does not know
  }

  /** Each chunk is passed on at once. A closed reader is reported by the writes of data. */
  override _write(chunk: string | Buffer, _encoding: unknown, done: () => void): void {
    const text = this.#colors === 'colors' ? chunk : chunk.toString().replace(/\x1b\[[\d;]*m/g, '');
    this.#last = this.#writer.write(text).catch(() => undefined);
    done();
  }

  drained(): Promise<void> {
    return this.#last;
  }
}

export type TerminalStreams = Pick<Io, 'stdout' | 'stderr'>;

/** `before`: before each chunk; `after`: after all writes of a turn. The result undoes it. */
export function aroundWrites(
  { stdout, stderr }: TerminalStreams,
  { before, after }: { before: (chunk: string | Uint8Array) => void; after: () => void },
): () => void {
  let isDue = false;
  const afterSoon = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      after();
    });
  };
  const restore = [stderr, ...(stdout.isTTY ? [stdout] : [])].map((stream) => {
    const own = stream.write;
    stream.write = (chunk) => {
      before(chunk);
      afterSoon();
      return own.call(stream, chunk);
    };
    return () => void (stream.write = own);
  });
  return () => {
    for (const undo of restore) undo();
  };
}
