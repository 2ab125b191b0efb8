/** The cursor is at the first column, and shown: an ended process leaves nothing to restore. */
import type { OutputStream } from '../base/streams.ts';
import type { Palette } from '../base/text/notice.ts';
import { safeLine } from '../base/text/safe-text.ts';
import { truncate } from '../base/text/width.ts';
import { aroundWrites, type TerminalStreams } from './writable.ts';

const CLEAR = '\x1b[J';
/** What is between the two marks is shown at once. */
const [AT_ONCE, SHOWN] = ['\x1b[?2026h', '\x1b[?2026l'];
/** Terminals disagree on widths: what is too wide is cut, and each line has one row. */
const [CUT, BROKEN] = ['\x1b[?7l', '\x1b[?7h'];
const UNKNOWN_WIDTH = 80;

export interface TerminalEvents {
  onResize(): void;
  /** Before the process is stopped, as by Ctrl-Z. At most one watch at a time has it. */
  onStop?(): void;
  onContinue(): void;
}

export interface StatusLineOptions {
  io: TerminalStreams;
  palette: Palette;
  /** Made safe and cut to the terminal. */
  text: () => string;
  /** Lines above it, safe; those that it returns at the end stay. */
  above?: () => readonly string[];
  signal: AbortSignal;
  /** The result ends the watch. */
  watch: (events: TerminalEvents) => () => void;
}

export type Screen = Pick<StatusLine, 'draw' | 'end'>;

export class StatusLine {
  private readonly write: OutputStream['write'];
  private readonly options: StatusLineOptions;
  private readonly restore: (() => void)[];
  private state: 'drawn' | 'cleared' | 'hidden' | 'ended' = 'cleared';
  private isLineOpen = false;
  private written: Promise<void> = Promise.resolve();

  constructor(options: StatusLineOptions) {
    this.options = options;
    const { stderr } = options.io;
    this.write = stderr.write.bind(stderr);
    const timer = setInterval(() => this.draw(), 1_000);
    timer.unref();
    // Before the watch: Node updates the width of a stream from its first use on.
    this.draw();
    const end = (): void => void this.end();
    options.signal.addEventListener('abort', end, { once: true });
    this.restore = [
      aroundWrites(options.io, {
        before: (chunk) => this.makeWay(chunk),
        after: () => this.draw(),
      }),
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

  draw(): void {
    if (this.state === 'hidden' || this.state === 'ended' || this.isLineOpen) return;
    const { io, palette, text, above } = this.options;
    // One column less: a terminal breaks a full line when the next character comes, or at once.
    const columns = (io.stderr.columns || UNKNOWN_WIDTH) - 1;
    this.state = 'drawn';
    const last = palette.dim(truncate(safeLine(text()), columns));
    const lines = above?.() ?? [];
    if (lines.length === 0) return this.put(`\r${CLEAR}${last}\r`);
    // The cursor returns to the first line, below which a narrower terminal breaks lines.
    const back = `\r\x1b[${lines.length}A`;
    this.put(`${AT_ONCE}${CUT}\r${rows(lines)}${last}${CLEAR}${back}${BROKEN}${SHOWN}`);
  }

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

  async end(): Promise<void> {
    if (this.state !== 'ended') {
      const { above } = this.options;
      if (above === undefined) this.clear();
      else this.put(`\r${rows(above())}${CLEAR}`);
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
    if (chunk.length === 0) return;
    this.isLineOpen = !(typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10);
  }

  private put(text: string): void {
    // A terminal that is gone is reported by the writes of data.
    this.written = this.write(text).catch(() => undefined);
  }
}

/** tmux copies a screen that is cleared as a whole into its history: each line is overwritten. */
function rows(lines: readonly string[]): string {
  return lines.map((line) => `${line}\x1b[K\n`).join('');
}
