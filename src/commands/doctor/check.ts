/** Checks with their dependencies: each runs once those that it needs have ended, all others run at the same time. */
import { type AppError, isAppError } from '../../errors.ts';
import type { Subject } from './subject.ts';

type Status = 'pass' | 'warn' | 'fail' | 'skip';

/** Each warning and each failure has a next step. */
export type Finding = Found &
  ({ status: 'warn' | 'fail'; hint: string } | { status: 'pass' | 'skip'; hint?: undefined });

interface Found {
  /** What was found, in one line. */
  text: string;
  /** What was measured or read, for scripts. */
  data?: Record<string, unknown>;
  /** Why the checks that need this one cannot run, although it has not failed. */
  blocks?: string;
}

export interface Check {
  /** Stable: scripts select by it. */
  id: string;
  /** Ids of checks that are listed before this one. */
  needs: readonly string[];
  /** An AppError is the finding `fail`; `unsupported` is `skip`. */
  run(subject: Subject): Promise<Finding>;
}

export interface Result {
  id: string;
  status: Status;
  text: string;
  hint: string | null;
  data: Record<string, unknown> | null;
}

/**
 * The results in the order of the checks.
 * @param onChange called with the ids of the checks that are running, whenever they change
 * @throws AppError `interrupted`, `usage` and `internal`, and what is not an AppError
 */
export async function runChecks(
  checks: readonly Check[],
  subject: Subject,
  onChange: (running: readonly string[]) => void,
): Promise<Result[]> {
  const started = new Map<string, Promise<{ result: Result; blocks: string | null }>>();
  const running = new Set<string>();
  const runOne = async ({ id, needs, run }: Check) => {
    const needed = await Promise.all(needs.map(async (name) => await started.get(name)));
    const reason = needed.map((each) => each?.blocks ?? null).find((blocks) => blocks !== null) ?? null;
    if (reason !== null) return ended(id, { status: 'skip', text: `not checked: ${reason}`, blocks: reason });
    running.add(id);
    onChange([...running]);
    const finding = await run(subject).catch(findingOf);
    running.delete(id);
    onChange([...running]);
    return ended(id, finding);
  };
  for (const check of checks) started.set(check.id, runOne(check));
  return (await Promise.all(started.values())).map(({ result }) => result);
}

function ended(id: string, { status, text, hint, data, blocks }: Finding) {
  const result: Result = { id, status, text, hint: hint ?? null, data: data ?? null };
  return { result, blocks: status === 'fail' ? `${id} failed` : (blocks ?? null) };
}

function findingOf(error: unknown): Finding {
  if (!isAppError(error) || RETHROWN.has(error.kind)) throw error;
  return error.kind === 'unsupported' ? { status: 'skip', text: error.message } : failed(error);
}

const RETHROWN: ReadonlySet<string> = new Set(['interrupted', 'usage', 'internal']);

export function failed(error: AppError): Finding {
  return { status: 'fail', text: error.message, hint: nextStepOf(error) };
}

/** An error without a hint is an answer, or a connection that the server has ended. */
export function nextStepOf({ details }: AppError): string {
  return details.hint ?? 'check the URL (http or https, port, path) and the log of the server';
}
