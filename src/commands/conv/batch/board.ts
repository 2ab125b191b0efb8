/** The live table of a batch on a terminal: the tasks that run, and how many have ended. */
import { blankConversation } from '../../../domain/conversation.ts';
import { elapsed } from '../../../domain/event-words.ts';
import type { TerminalSize } from '../../../domain/program.ts';
import { roughRuler } from '../../../text/width.ts';
import { safeLine } from '../../../text/safe-text.ts';
import { formatUsd } from '../../../text/usd.ts';
import { LiveRun } from '../live-run.ts';
import type { TaskResult } from './task-result.ts';

/** A key takes at most a third of the screen, and no more columns than this. */
const LONGEST_KEY_COLUMNS = 30;
/** Rows besides those of tasks: the heading and the counts. */
const OTHER_ROWS = 3;
const HEADING = ['KEY', 'STATUS', 'ELAPSED', 'COST', 'LAST ACTION'];

interface Row {
  live: LiveRun;
  /** Shown in place of the status. */
  word: string | null;
}

export class Board {
  private readonly rows = new Map<string, Row>();
  private readonly total: number;
  private readonly now: () => number;
  private readonly screen: () => TerminalSize;
  private ended = 0;
  private failed = 0;
  private cost = 0;
  private readonly startMs: number;

  constructor(options: { total: number; now: () => number; screen: () => TerminalSize }) {
    this.total = options.total;
    this.now = options.now;
    this.screen = options.screen;
    this.startMs = options.now();
  }

  start(key: string): LiveRun {
    const live = new LiveRun(blankConversation('', 'starting'), this.now(), 'known');
    this.rows.set(key, { live, word: null });
    return live;
  }

  /** The server has refused the start for now. */
  waits(key: string): void {
    const row = this.rows.get(key);
    if (row !== undefined) row.word = 'waiting for a free sandbox';
  }

  end(key: string, result: TaskResult | null): void {
    this.rows.delete(key);
    if (result === null) return;
    this.ended += 1;
    if (result.exit_code !== 0) this.failed += 1;
    this.cost += result.cost_usd ?? 0;
  }

  lines(): string[] {
    const cells = [...this.rows].map(([key, { live, word }]) => {
      const [status, time, cost, action] = live.parts(this.now());
      return [key, word ?? status, time, cost ?? '', action ?? ''].map(safeLine);
    });
    const { rows, columns } = this.screen();
    const most = Math.max(1, rows - OTHER_ROWS);
    const keyColumns = Math.min(LONGEST_KEY_COLUMNS, Math.floor(columns / 3));
    const shown = cells.slice(0, most);
    return [...aligned([HEADING, ...shown], keyColumns), this.counts(cells.length - shown.length)];
  }

  private counts(hidden: number): string {
    const { size } = this.rows;
    const parts = [
      `${this.ended} of ${this.total} ended`,
      this.failed === 0 ? '' : `${this.failed} not finished`,
      `${size} running${hidden > 0 ? ` (${hidden} not shown)` : ''}`,
      elapsed(this.now() - this.startMs),
      this.cost === 0 ? '' : formatUsd(this.cost),
    ];
    return parts.filter((part) => part !== '').join(' · ');
  }
}

/** The last column has no width of its own: the terminal cuts it. */
function aligned(rows: readonly (readonly string[])[], keyColumns: number): string[] {
  const ruler = roughRuler();
  const cut = rows.map((row) => row.map((cell, at) => (at === 0 ? ruler.truncate(cell, keyColumns) : cell)));
  const widths = HEADING.map((_, at) => Math.max(...cut.map((row) => ruler.width(row[at] ?? ''))));
  return cut.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : ruler.pad(cell, widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
