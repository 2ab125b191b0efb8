import { describe, expect, it } from 'vitest';
import { Board } from '../../../../src/commands/conv/batch/board.ts';
import type { TaskResult } from '../../../../src/commands/conv/batch/task-result.ts';

const result = (exit_code: number): TaskResult => ({
  key: 'a',
  id: null,
  status: 'any',
  exit_code,
  reason: null,
  attempts: 1,
  cost_usd: 0.5,
  seconds: 1,
  diff: null,
});

describe('the live table of a batch', () => {
  it('has a row for each task that runs, and counts the others', () => {
    let now = 0;
    const board = new Board({ total: 5, now: () => now, screen: () => ({ rows: 24, columns: 80 }) });
    board.start('first');
    board.start('second');
    board.start('third');
    board.waits('third');
    board.end('first', result(1));
    now = 65_000;

    expect(board.lines()).toEqual([
      'KEY     STATUS                      ELAPSED  COST  LAST ACTION',
      'second  starting                    1:05',
      'third   waiting for a free sandbox  1:05',
      '1 of 5 ended · 1 not finished · 2 running · 1:05 · $0.50',
    ]);
  });

  it('shows as many tasks as the screen has rows for', () => {
    const board = new Board({ total: 9, now: () => 0, screen: () => ({ rows: 5, columns: 80 }) });
    for (const key of ['a', 'b', 'c', 'd']) board.start(key);

    expect(board.lines()).toHaveLength(4);
    expect(board.lines().at(-1)).toContain('4 running (2 not shown)');
  });

  it('cuts a key at a third of the screen, so that status and time stay visible', () => {
    const board = new Board({ total: 1, now: () => 0, screen: () => ({ rows: 24, columns: 40 }) });
    board.start('repair-the-linter-in-every-package');

    expect(board.lines().slice(0, 2)).toEqual([
      'KEY            STATUS    ELAPSED  COST  LAST ACTION',
      'repair-the-l…  starting  0:00',
    ]);
  });

  it('has no control characters of a key or of what an agent does', () => {
    const board = new Board({ total: 1, now: () => 0, screen: () => ({ rows: 24, columns: 80 }) });
    board.start('a\x1b[2Jb');

    expect(board.lines().join('')).not.toContain('\x1b');
  });
});
