/**
 * One line, or a block of lines, below all other output of a terminal. Every write to the terminal clears it, and it is
 * drawn again after the write. The cursor stays at the first column of the first line and is never hidden: a terminal
 * that becomes narrower breaks the lines behind the cursor, where they are cleared, and a process that ends by any signal
 * leaves nothing to restore.
 */
import type { Palette } from '../text/palette.ts';
import { safeLine } from '../text/safe-text.ts';
import { roughRuler } from '../text/width.ts';
import { aroundWrites, type TerminalStreams } from './around-writes.ts';
import type { TerminalWriter } from './writable.ts';

/** So that a line shows the time that passes. */
const REDRAW_MS = 1_000;
/** From the cursor to the end of the screen. */
const CLEAR = '\x1b[J';
const UNKNOWN_WIDTH = 80;
const UNKNOWN_ROWS = 24;

/** What happens to the terminal and to the process in it. */
export interface TerminalEvents {
  onResize(): void;
  /** Before the process is stopped, as by Ctrl-Z. At most one watch at a time has it. */
  onStop?(): void;
  onContinue(): void;
}

export interface StatusLineOptions {
  io: TerminalStreams;
  palette: Palette;
  /** A line, or several, of any length; made safe and cut to the terminal. The first line of several is a heading. */
  text: () => string | readonly string[];
  /** Clears the line at once when it aborts. */
  signal: AbortSignal;
  /** @returns ends the watch */
  watch: (events: TerminalEvents) => () => void;
}

export class StatusLine {
  private readonly write: TerminalWriter['write'];
  private readonly options: StatusLineOptions;
  private readonly restore: (() => void)[];
  private state: 'drawn' | 'cleared' | 'hidden' | 'ended' = 'cleared';
  private isLineOpen = false;
  private written: Promise<void> = Promise.resolve();

  constructor(options: StatusLineOptions) {
    this.options = options;
    const { stderr } = options.io;
    this.write = stderr.write.bind(stderr);
    const timer = setInterval(() => this.draw(), REDRAW_MS);
    timer.unref();
    // Before the watch: Node updates the width of a stream from its first use on.
    this.draw();
    const end = (): void => void this.end();
    options.signal.addEventListener('abort', end, { once: true });
    this.restore = [
      aroundWrites(options.io, { before: (chunk) => this.makeWay(chunk), after: () => this.draw() }),
      options.watch({
        onResize: () => this.draw(),
        onStop: () => this.clear(),
        onContinue: () => this.draw(),
      }),
      () => clearInterval(timer),
      () => options.signal.removeEventListener('abort', end),
    ];
    if (options.signal.aborted) end();
  }

  /** Draws the line with the text that it has now. */
  draw(): void {
    if (this.state === 'hidden' || this.state === 'ended' || this.isLineOpen) return;
    const { io, palette, text } = this.options;
    // One column less: a terminal breaks a full line when the next character comes, or at once.
    const columns = (io.stderr.columns || UNKNOWN_WIDTH) - 1;
    this.state = 'drawn';
    const given = text();
    const isBlock = typeof given !== 'string';
    // The block must not be higher than the screen: what has scrolled away cannot be cleared.
    const lines = isBlock ? given.slice(0, Math.max(1, (io.stderr.rows ?? UNKNOWN_ROWS) - 1)) : [given];
    const shown = lines.map((line, at) => {
      const cut = roughRuler().truncate(safeLine(line), columns);
      return isBlock && at > 0 ? cut : palette.dim(cut);
    });
    const up = lines.length > 1 ? `\x1b[${lines.length - 1}A` : '';
    this.put(`\r${CLEAR}${shown.join('\r\n')}\r${up}`);
  }

  /** Takes the line away until `show`: something else writes to the terminal without a line feed. */
  hide(): void {
    if (this.state === 'ended') return;
    this.clear();
    this.state = 'hidden';
  }

  show(): void {
    if (this.state !== 'hidden') return;
    this.state = 'cleared';
    this.isLineOpen = false;
    this.draw();
  }

  /** Resolves when the line is cleared. */
  async end(): Promise<void> {
    if (this.state !== 'ended') {
      this.clear();
      this.state = 'ended';
      for (const undo of this.restore) undo();
    }
    await this.written;
  }

  private clear(): void {
    if (this.state !== 'drawn') return;
    this.state = 'cleared';
    this.put(`\r${CLEAR}`);
  }

  private makeWay(chunk: string | Uint8Array): void {
    this.clear();
    if (chunk.length > 0) this.isLineOpen = !endsWithLineFeed(chunk);
  }

  private put(text: string): void {
    // A terminal that is gone is reported by the writes of data.
    this.written = this.write(text).catch(() => undefined);
  }
}

function endsWithLineFeed(chunk: string | Uint8Array): boolean {
  return typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10;
}
