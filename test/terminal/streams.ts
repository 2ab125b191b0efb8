/** A stderr that keeps what is written, and an input that a test types into. */
import { PassThrough } from 'node:stream';
import type { TerminalWriter } from '../../src/terminal/writable.ts';

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
