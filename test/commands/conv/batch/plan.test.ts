import { describe, expect, it } from 'vitest';
import { diffNames } from '../../../../src/commands/conv/batch/index.ts';
import { planOf, type Plan, type Retry } from '../../../../src/commands/conv/batch/journal.ts';
import type { TaskResult } from '../../../../src/commands/conv/batch/results.ts';

type TaskState = Parameters<typeof planOf>[0];

const STAGES: Record<'none' | 'sent' | 'taken', TaskState['stage']> = {
  none: { at: 'unsent' },
  sent: { at: 'sent', sent: { id: 'a', dialect: 'v1', sent_at: '' } },
  taken: { at: 'task', id: 'a', start_task_id: null },
};

function state(start: keyof typeof STAGES, code: number | null, status = 'any'): TaskState {
  const rest = {
    key: 'a',
    id: null,
    reason: null,
    attempts: 1,
    cost_usd: null,
    seconds: null,
    diff: null,
  };
  const result: TaskResult | null = code === null ? null : { ...rest, status, exit_code: code };
  return { stage: STAGES[start], result };
}

describe('what the next run of a batch does with a task', () => {
  it.each<[string, TaskState, Retry[], Plan]>([
    ['that was never started', state('none', null), [], 'start'],
    ['whose start was refused', state('none', 4, 'not-started'), [], 'start'],
    ['whose start was sent and not answered', state('sent', null), [], 'continue'],
    ['that runs', state('taken', null), [], 'continue'],
    ['that has finished', state('taken', 0), ['failed', 'unknown'], 'skip'],
    ['that has failed', state('taken', 1), ['unknown'], 'skip'],
    ['that has failed, with --retry failed', state('taken', 1), ['failed'], 'start'],
    ['that was deleted, with --retry failed', state('taken', 5), ['failed'], 'start'],
    ['that was paused', state('taken', 6), [], 'continue'],
    ['that was paused, with --retry failed', state('taken', 6), ['failed'], 'start'],
    ['that waits for a confirmation', state('taken', 8), ['failed'], 'continue'],
    ['whose time was up', state('taken', 124), ['failed'], 'continue'],
    ['whose start is unknown', state('sent', 11, 'unknown'), ['failed'], 'skip'],
    [
      'whose start is unknown, with --retry unknown',
      state('sent', 11, 'unknown'),
      ['unknown'],
      'retry',
    ],
    ['whose start was answered with 500', state('sent', 9), [], 'continue'],
  ])('%s', (_, given, retries, plan) => {
    expect(planOf(given, retries)).toBe(plan);
  });
});

const nameOf = (key: string) => diffNames([key]).get(key);

describe('the diff file of a key', () => {
  it.each([
    ['fix-1', 'fix-1.diff'],
    ['owner/name', 'owner%2Fname.diff'],
    ['..', '%2E..diff'],
    ['.hidden', '%2Ehidden.diff'],
    ['-rf', '%2Drf.diff'],
    ['a\\b:c', 'a%5Cb%3Ac.diff'],
    ['100%', '100%25.diff'],
    ['é', '%C3%A9.diff'],
  ])('%s is %s', (key, name) => {
    expect(nameOf(key)).toBe(name);
  });

  it('differs for keys that differ in case alone', () => {
    const names = [...diffNames(['Fix', 'fix']).values()].map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(2);
  });

  it('is short for a long key, and differs for two that begin alike', () => {
    const names = [...diffNames([`${'x'.repeat(190)}1`, `${'x'.repeat(190)}2`]).values()];
    expect(new Set(names).size).toBe(2);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThan(200);
  });
});
