/** A terminal as a user sees it, and streams that keep what is written. */
import { PassThrough } from 'node:stream';
import type { OutputStream } from '../../src/base/streams.ts';

/**
 * A terminal as a user sees it: rows, which a line feed, a carriage return and `CSI J` (to the end)
 * change. Marks of synchronized output change nothing.
 */
export class Screen {
  private readonly lines = [''];

  /** What the rows hold. */
  get text(): string {
    return this.lines.join('\n');
  }

  /** The row of the cursor. */
  get last(): string {
    return this.lines.at(-1) ?? '';
  }

  write(text: string): void {
    for (const part of text.replace(/\x1b\[\?2026[hl]/g, '').split(/(\r|\n|\x1b\[J)/)) {
      const row = this.lines.length - 1;
      if (part === '\n') this.lines.push('');
      else if (part === '\x1b[J') this.lines[row] = '';
      else if (part !== '\r') this.lines[row] += part;
    }
  }
}

export interface KeptStderr extends OutputStream {
  text(): string;
}

/** @param columns of a terminal; undefined is a pipe */
export function keptStderr(columns?: number): KeptStderr {
  let kept = '';
  return {
    write(chunk) {
      kept += Buffer.from(chunk).toString('utf8');
      return Promise.resolve();
    },
    isTTY: columns !== undefined,
    columns,
    text: () => kept,
  };
}

export function keyboard(): PassThrough {
  return new PassThrough();
}

/** A screen with a width, and a stream that writes to it. */
export class Terminal extends Screen {
  columns = 20;

  writer(): OutputStream {
    const columns = (): number => this.columns;
    return {
      isTTY: true,
      get columns() {
        return columns();
      },
      write: (chunk) => Promise.resolve(this.write(Buffer.from(chunk).toString('utf8'))),
    };
  }
}
