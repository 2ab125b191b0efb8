/** A stderr that keeps what is written, and an input that a test types into. */
import { PassThrough } from 'node:stream';
import type { TerminalWriter } from '../../src/terminal/writable.ts';
import { Screen } from '../support/screen.ts';

export interface KeptStderr extends TerminalWriter {
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

  writer(): TerminalWriter {
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
