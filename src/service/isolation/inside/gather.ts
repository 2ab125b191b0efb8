/** Reads the output of a command until it is complete. */
import type { ChildProcess } from 'node:child_process';
import type { RunParameters } from '../protocol.ts';
import { BoundedText } from './output.ts';

/**
 * After the end of the shell: the output is complete after this time without data, although a process holds the pipe.
 */
const SILENCE_MS = 60;
const PATIENCE_MS = 1000;

export type OutputListener = (stream: 'stdout' | 'stderr', text: string) => void;

interface Gathered {
  stdout: BoundedText;
  stderr: BoundedText;
  /** Resolves when the output is complete; a background process that keeps the pipe open is not waited for. */
  settled: () => Promise<void>;
}

export function gather(child: ChildProcess, wanted: RunParameters, onOutput: OutputListener): Gathered {
  const texts = {
    stdout: new BoundedText(wanted.keepHead, wanted.keepTail),
    stderr: new BoundedText(wanted.keepHead, wanted.keepTail),
  };
  let lastOutput = performance.now();
  let open = 2;
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name];
    stream?.on('data', (chunk: Buffer) => {
      lastOutput = performance.now();
      const text = texts[name].push(chunk);
      if (text !== '' && wanted.live) onOutput(name, text);
    });
    stream?.once('close', () => {
      texts[name].end();
      open -= 1;
    });
    stream?.on('error', () => undefined);
  }
  const settled = async (): Promise<void> => {
    const since = performance.now();
    while (open > 0 && performance.now() - lastOutput < SILENCE_MS && performance.now() - since < PATIENCE_MS)
      await pause(5);
    // A full turn of the event loop, in which all data in the pipe is read.
    for (let turn = 0; turn < 3 && open > 0; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...texts, settled };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
