import type { Reason } from '../../../domain/conversation.ts';
import type { View } from '../../../output/view.ts';

export interface TaskResult {
  key: string;
  /** Null where no conversation is known. */
  id: string | null;
  /** A status of conversations, `unknown` (it may have been started) or `not-started`. */
  status: string;
  exit_code: number;
  reason: Reason | null;
  /** Starts that the server has taken, or may have taken. */
  attempts: number;
  cost_usd: number | null;
  /** From start to end; null where another command has sent the start or waited for the end. */
  seconds: number | null;
  /** Null where it was not requested or could not be read. */
  diff: { files: number; added: number; removed: number } | null;
}

export const NOT_STARTED = 'not-started';
export const UNKNOWN = 'unknown';

export const resultView: View<TaskResult> = {
  noun: 'result',
  id: (result) => result.id ?? '',
  fields: [
    { name: 'key', weight: 2 },
    { name: 'id', as: 'id', weight: 3 },
    { name: 'status', as: 'status', weight: 0 },
    { name: 'exit_code', as: 'number', weight: 0 },
    {
      name: 'reason',
      json: { members: ['code', 'text'] },
      show: ({ reason }) => reason?.text,
    },
    { name: 'attempts', as: 'number', weight: 0 },
    { name: 'cost_usd', as: 'usd', weight: 0 },
    { name: 'seconds', as: 'number', weight: 0 },
    { name: 'diff', json: { members: ['files', 'added', 'removed'] } },
  ],
  table: ['key', 'status', 'exit_code', 'attempts', 'cost_usd', 'seconds', 'reason'],
  tsv: ['key', 'id', 'status', 'exit_code', 'reason', 'attempts', 'cost_usd', 'seconds'],
};

const SHARED = new Set(['id', 'status', 'exit_code', 'reason', 'cost_usd', 'seconds']);

/** `answer`: the first line of the final answer; null without one. */
export type RunResult = TaskResult & { answer: string | null };

/** `conv new --count`: the key is the number of the run. */
export const runView: View<RunResult> = {
  noun: 'run',
  id: resultView.id,
  fields: [
    { name: 'run', get: (result) => Number(result.key), weight: 0 },
    ...resultView.fields.filter(({ name }) => SHARED.has(name)),
    { name: 'files', get: (result) => result.diff?.files ?? null, weight: 0 },
    { name: 'added', get: (result) => result.diff?.added ?? null, weight: 0 },
    { name: 'removed', get: (result) => result.diff?.removed ?? null, weight: 0 },
    { name: 'answer' },
  ],
  table: 'run id status files added removed cost_usd answer reason'.split(' '),
  tsv: 'run id status exit_code cost_usd seconds files added removed reason answer'.split(' '),
};
