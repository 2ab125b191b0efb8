/**
 * The only owner of ora. The cursor stays at the first column and is never hidden: nothing has to
 * be restored after Ctrl-Z, and a line that a narrower terminal has broken is cleared as a whole.
 */
import ora, { type Ora } from 'ora';
import { safeLine } from '../base/text/safe-text.ts';
import { truncate } from '../base/text/width.ts';
import type { StatusLineOptions } from './status-line.ts';
import { TerminalStream } from './writable.ts';

/** Columns of the frame, the blanks around the text, and the last one, where terminals wrap. */
const OTHER_COLUMNS = 4;

class SpinnerStream extends TerminalStream {
  cursorTo(): void {
    this.write('\r');
  }

  clearLine(): void {
    this.write('\x1b[J');
  }
}

/** Draws between the writes of others on a terminal, as ora does. */
export class Spinner {
  private readonly options: StatusLineOptions;
  private readonly stream: SpinnerStream;
  private readonly ora: Ora;
  private readonly restore: (() => void)[];
  private state: 'shown' | 'hidden' | 'ended' = 'shown';

  constructor(options: StatusLineOptions, colors: 'colors' | 'no-colors') {
    this.options = options;
    this.stream = new SpinnerStream(options.io.stderr, colors);
    this.ora = ora({
      stream: this.stream,
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
      suffixText: '\r',
    });
    const { signal, watch } = options;
    const end = (): void => void this.end();
    signal.addEventListener('abort', end, { once: true });
    this.restore = [
      () => signal.removeEventListener('abort', end),
      watch({
        onResize: () => this.draw(),
        onStop: () => void this.ora.stop(),
        onContinue: () => this.draw(),
      }),
    ];
    if (signal.aborted) end();
    this.draw();
  }

  draw(): void {
    if (this.state !== 'shown') return;
    const text = safeLine(this.options.text());
    this.ora.text = truncate(text, this.stream.columns - OTHER_COLUMNS);
    if (this.ora.isSpinning) this.ora.render();
    else this.ora.start();
  }

  hide(): void {
    if (this.state === 'shown') this.state = 'hidden';
    this.ora.stop();
  }

  show(): void {
    if (this.state === 'hidden') this.state = 'shown';
    this.draw();
  }

  async end(): Promise<void> {
    if (this.state !== 'ended') {
      this.state = 'ended';
      this.ora.stop();
      for (const undo of this.restore) undo();
    }
    await this.stream.drained();
  }
}
