/** `conv new --count`: one task several times, and the runs side by side. */
import type { Context } from '../../../context.ts';
import { AppError } from '../../../errors.ts';
import { worstCode } from '../../resource/wait.ts';
import { checkServer, hasTask, readDraft } from '../new-draft.ts';
import type { NewOptions } from '../new-options.ts';
import { checkTitle } from '../rename.ts';
import { createMemoryJournal } from './journal.ts';
import { CONCURRENCY, planRequests, runTasks, unfinished, type BatchEnd, type PlannedTask } from './run-tasks.ts';
import { runView, type TaskResult } from './task-result.ts';

export async function countRuns(
  ctx: Context,
  argument: string | undefined,
  given: NewOptions,
  count: number,
): Promise<void> {
  ctx.out.check(runView, 'list');
  const options: NewOptions = { ...given, repo: given.repo ?? given.R, wait: true };
  if (options.title !== undefined) checkTitle(options.title);
  const draft = await readDraft(ctx, argument, options);
  if (!hasTask(draft)) {
    throw new AppError('usage', 'no message was given, and --count does not ask for one', {
      hint: 'give the message as an argument, with --file, or as - on stdin; or replay a recorded run with --replay',
    });
  }
  const server = await ctx.server();
  await checkServer(server, options);
  const planned = Array.from({ length: count }, (_, index): PlannedTask => {
    const number = index + 1;
    const task = { key: String(number), line: number, options, fingerprint: '', draft: () => Promise.resolve(draft) };
    return { task, plan: 'start', diff: 'size' };
  });
  if (ctx.globals.mode === 'dry-run') return await planRequests(ctx, server, planned);
  const results: TaskResult[] = [];
  const onResult = async (result: TaskResult): Promise<void> => {
    results.push(result);
    await ctx.notice(`${result.key}: ${result.status}`);
  };
  const runner = { ctx, server, serverName: '', journal: createMemoryJournal(), concurrency: CONCURRENCY, onResult };
  const end = await runTasks(runner, planned);
  const inOrder = results.toSorted((one, other) => Number(one.key) - Number(other.key));
  await ctx.out.list(runView, inOrder, { has_more: false });
  ctx.exitCode = worstCode(results.map(({ exit_code }) => exit_code));
  await conclude(ctx, end, results);
}

async function conclude(ctx: Context, end: BatchEnd, results: readonly TaskResult[]): Promise<void> {
  const { halted } = end;
  if (halted === null && !ctx.signal.aborted) return;
  const { running, unknown, not_started } = unfinished(end, results);
  const ids = running.flatMap(({ id }) => id ?? []);
  const known = [...ids, ...unknown.flatMap(({ id }) => id ?? [])];
  const cause = halted ?? (ctx.signal.reason as AppError);
  await ctx.out.close();
  const unclear = unknown.length === 0 ? '' : `the state of ${unknown.length} is not known, `;
  const counts = `${ids.length} of the runs continue, ${unclear}${not_started.length} were not started`;
  throw new AppError(cause.kind, `${cause.message}; ${counts}`, {
    ...cause.details,
    exitCode: cause.exitCode,
    ...(known.length === 0 ? {} : { hint: `wait for them: acs conv wait ${known.join(' ')}` }),
    data: { running: ids, unknown: unknown.map(({ id }) => id), not_started: not_started.length },
  });
}
