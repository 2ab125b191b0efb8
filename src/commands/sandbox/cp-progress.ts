/** Counts the bytes of a copy and shows their number on a terminal. */
import type { Context } from '../../context.ts';
import { byteSize } from '../../text/byte-size.ts';

export interface Counter {
  of(parts: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  into(take: (part: Uint8Array) => Promise<void>): (part: Uint8Array) => Promise<void>;
  /** Shows the progress of the work. Returns the number of bytes of its last try. */
  during(work: () => Promise<void>): Promise<number>;
}

/** @param total of what is copied; null: not known */
export async function counting(ctx: Context, text: string, total: number | null): Promise<Counter> {
  const progress = ctx.io.stderr.isTTY ? await ctx.progress(text) : null;
  let bytes = 0;
  const count = (part: Uint8Array): void => {
    bytes += part.length;
    progress?.update(`${text}: ${byteSize(bytes)}${total === null ? '' : ` of ${byteSize(total)}`}`);
  };
  return {
    async *of(parts) {
      bytes = 0;
      for await (const part of parts) {
        count(part);
        yield part;
      }
    },
    into: (take) => async (part) => {
      count(part);
      await take(part);
    },
    async during(work) {
      try {
        await work();
        return bytes;
      } finally {
        await progress?.done();
      }
    },
  };
}
