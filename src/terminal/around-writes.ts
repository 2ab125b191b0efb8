/** For what is drawn below all other output of a terminal: it is cleared before each write, and drawn again after it. */
import type { TerminalWriter } from './writable.ts';

export interface TerminalStreams {
  stdout: TerminalWriter;
  stderr: TerminalWriter;
}

/**
 * Calls `before` with each chunk right before it is written, and `after` once for all writes of a turn.
 * @returns gives the streams their own writes back
 */
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
