import type { Context } from '../../context.ts';
import { AppError } from '../../../base/errors.ts';
import { worstCode } from '../../../runs/outcome.ts';
import { newLimits, type NewOptions } from '../new/options.ts';
import { beforeStart, hasTask, readDraft } from '../new/request.ts';
import { Journal } from './journal.ts';
import { runView, type TaskResult } from './results.ts';
import { Batch, CONCURRENCY, type PlannedTask } from './run-tasks.ts';

export async function countRuns(
  ctx: Context,
  argument: string | undefined,
  given: NewOptions,
  count: number,
): Promise<void> {
  ctx.out.check(runView, 'list');
  const options: NewOptions = { ...given, wait: true };
  const draft = await readDraft(ctx, argument, options);
  if (!hasTask(draft))
    throw new AppError('usage', 'no message was given, and --count does not ask for one', {
      hint:
        'give the message as an argument, with --file, or as - on stdin; or replay a ' +
        'recorded run with --replay',
    });
  const { server } = await beforeStart(ctx, newLimits(ctx, options), options, () =>
    Promise.resolve(),
  );
  const planned = Array.from({ length: count }, (_, index): PlannedTask => {
    const line = index + 1;
    const start = { options, fingerprint: '', draft: () => Promise.resolve(draft) };
    return { task: { key: String(line), line, ...start }, plan: 'start', diff: 'size' };
  });
  const onResult = async ({ key, status, exit_code, reason }: TaskResult): Promise<void> => {
    await ctx.notice(`${key}: ${status}`);
    if (exit_code !== 0) await ctx.terminal.quietError(`${key}: ${reason?.text ?? status}`);
  };
  const journal = new Journal();
  const runner = { ctx, server, serverName: '', journal, concurrency: CONCURRENCY, onResult };
  const run = new Batch(runner, planned);
  const cause = await run.run();
  const results = planned.flatMap(({ task }) => run.results.get(task.key) ?? []);
  await ctx.out.list(runView, results, { has_more: false });
  ctx.exitCode = worstCode(results.map(({ exit_code }) => exit_code));
  if (cause === null) return;
  const running = run.left.running.map(({ id }) => id);
  const unknown = run.left.unknown.map(({ id }) => id);
  const known = [...running, ...unknown].filter((id) => id !== null);
  await ctx.out.close();
  throw new AppError(cause.kind, cause.message, {
    ...cause.details,
    ...(known.length > 0 && { hint: `wait for them: acs conv wait ${known.join(' ')}` }),
    data: { running, unknown, not_started: run.left.not_started.length },
  });
}
