/** How a task of a batch has ended: the record that is printed and stored, and what another run of the batch does then. */
import type { Reason } from '../../../domain/conversation.ts';
import type { ChangedFile } from '../../../domain/patch.ts';
import { EXIT_CODES } from '../../../errors.ts';
import type { View } from '../../../output/view.ts';

export interface DiffSize {
  files: number;
  added: number;
  removed: number;
}

export interface TaskResult {
  key: string;
  /** Null where no conversation is known. */
  id: string | null;
  /** A status of conversations, `unknown` (whether it was started is not known) or `not-started`. */
  status: string;
  exit_code: number;
  reason: Reason | null;
  /** Starts that the server has taken, or may have taken. */
  attempts: number;
  cost_usd: number | null;
  /** From the start to the end; null where the end was not waited for by the command that sent the start. */
  seconds: number | null;
  /** Null where it was not requested or could not be read. */
  diff: DiffSize | null;
}

export const NOT_STARTED = 'not-started';
export const UNKNOWN = 'unknown';

const RESULT_FIELDS = [
  { name: 'key', get: (result) => result.key, weight: 2 },
  { name: 'id', get: (result) => result.id, as: 'id', weight: 3 },
  { name: 'status', get: (result) => result.status, as: 'status', weight: 0 },
  { name: 'exit_code', get: (result) => result.exit_code, as: 'number', weight: 0 },
  { name: 'reason', get: (result) => result.reason, json: { members: ['code', 'text'] } },
  { name: 'attempts', get: (result) => result.attempts, as: 'number', weight: 0 },
  { name: 'cost_usd', get: (result) => result.cost_usd, as: 'usd', weight: 0 },
  { name: 'seconds', get: (result) => result.seconds, as: 'number', weight: 0 },
  { name: 'diff', get: (result) => result.diff, json: { members: ['files', 'added', 'removed'] } },
] as const satisfies View<TaskResult>['fields'];

export const resultView: View<TaskResult> = {
  noun: 'result',
  id: (result) => result.id ?? '',
  fields: RESULT_FIELDS,
  table: ['key', 'status', 'exit_code', 'attempts', 'cost_usd', 'seconds', 'reason'],
  tsv: ['key', 'id', 'status', 'exit_code', 'reason', 'attempts', 'cost_usd', 'seconds'],
};

/** Of `conv new --count`: the key is the number of the run. */
export const runView: View<TaskResult> = {
  noun: 'run',
  id: (result) => result.id ?? '',
  fields: [
    { name: 'run', get: (result) => Number(result.key), weight: 0 },
    { name: 'id', get: (result) => result.id, as: 'id', weight: 3 },
    { name: 'status', get: (result) => result.status, as: 'status', weight: 0 },
    { name: 'exit_code', get: (result) => result.exit_code, weight: 0 },
    { name: 'reason', get: (result) => result.reason, json: { members: ['code', 'text'] } },
    { name: 'cost_usd', get: (result) => result.cost_usd, as: 'usd', weight: 0 },
    { name: 'seconds', get: (result) => result.seconds, weight: 0 },
    { name: 'files', get: (result) => result.diff?.files ?? null, weight: 0 },
    { name: 'added', get: (result) => result.diff?.added ?? null, weight: 0 },
    { name: 'removed', get: (result) => result.diff?.removed ?? null, weight: 0 },
  ],
  table: ['run', 'id', 'status', 'cost_usd', 'seconds', 'files', 'added', 'removed', 'reason'],
  tsv: ['run', 'id', 'status', 'exit_code', 'cost_usd', 'seconds', 'files', 'added', 'removed', 'reason'],
};

export function sizeOf(files: readonly ChangedFile[]): DiffSize {
  const sum = (count: (file: ChangedFile) => number | null): number =>
    files.reduce((total, file) => total + (count(file) ?? 0), 0);
  return { files: files.length, added: sum(({ added }) => added), removed: sum(({ removed }) => removed) };
}

/** What `--retry` names. */
export const RETRIES = ['failed', 'unknown'] as const;
export type Retry = (typeof RETRIES)[number];

/** What the journal has of a task. */
export interface TaskState {
  attempts: number;
  /** Of the last attempt: `none` when the server has not taken it. */
  start: 'none' | 'sent' | 'taken';
  result: TaskResult | null;
}

/**
 * `find`: it is not known whether the last start was taken. `retry`: the same, and it is started again where the server
 * cannot show it. `attach`: its conversation is known, and may not have ended.
 */
export type Plan = 'skip' | 'start' | 'find' | 'retry' | 'attach';

/** Codes of runs that do not change any more by themselves. */
const FAILED: ReadonlySet<number> = new Set([EXIT_CODES.failed, EXIT_CODES['not-found']]);

export function planOf({ start, result }: TaskState, retries: readonly Retry[]): Plan {
  const again = start === 'none' ? 'start' : start === 'sent' ? 'find' : 'attach';
  if (result === null || result.status === NOT_STARTED) return again;
  if (result.exit_code === EXIT_CODES.ok) return 'skip';
  if (result.status === UNKNOWN) return retries.includes('unknown') ? 'retry' : 'skip';
  const isHalted = result.exit_code === EXIT_CODES.conflict;
  if ((FAILED.has(result.exit_code) || isHalted) && retries.includes('failed')) return 'start';
  return FAILED.has(result.exit_code) ? 'skip' : again;
}
