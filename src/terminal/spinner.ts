/** The one owner of ora. Only for a terminal: elsewhere ora writes lines even when it is disabled. */
import ora from 'ora';
import { TerminalStream, type TerminalWriter } from './writable.ts';

export interface Spinner {
  update(text: string): void;
  /** Takes the spinner away and leaves `line`, if any, in its place. */
  stop(line?: string): Promise<void>;
}

/** @param text safe text on one line */
export function startSpinner(stderr: TerminalWriter, text: string, colors: 'colors' | 'no-colors'): Spinner {
  const stream = new TerminalStream(stderr, colors);
  const spinner = ora({
    text,
    stream: stream as unknown as NodeJS.WritableStream,
    isEnabled: true,
    color: colors === 'colors' ? 'cyan' : false,
    // Discarding would put stdin into raw mode, where Ctrl-C no longer sends a signal.
    discardStdin: false,
  }).start();
  return {
    update(next) {
      spinner.text = next;
    },
    async stop(line) {
      spinner.stop();
      if (line !== undefined) stream.write(`${line}\n`);
      await stream.drained();
    },
  };
}
