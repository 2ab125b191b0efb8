import type { Context } from '../../context.ts';
import { AppError, isFailure, nullIf } from '../../../base/errors.ts';
import { cut } from '../../../base/text/well-formed.ts';
import { worstCode } from '../../../runs/outcome.ts';
import { shortId } from '../../shared/bulk.ts';
import { showNext } from '../end-of-run.ts';
import { newLimits, type NewOptions } from '../new/options.ts';
import { beforeStart, hasTask, readDraft } from '../new/request.ts';
import { Journal } from './journal.ts';
import { type RunResult, runView, type TaskResult } from './results.ts';
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
  await beforeStart(ctx, newLimits(ctx, options), options, () => Promise.resolve());
  const server = await ctx.servers.active();
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
  const runner = { ctx, server, journal, concurrency: CONCURRENCY, onResult };
  const run = new Batch(runner, planned);
  const cause = await run.run();
  const ended = planned.flatMap(({ task }) => run.results.get(task.key) ?? []);
  const results = await Promise.all(
    ended.map(async (result): Promise<RunResult> => {
      const hasAnswer = result.exit_code === 0 && result.id !== null && cause === null;
      const answer = hasAnswer
        ? await server.conversations.result(result.id ?? '').catch(nullIf(isFailure))
        : null;
      return { ...result, answer: answer && cut(answer.text.trim().split('\n', 1)[0] ?? '', 500) };
    }),
  );
  await ctx.out.list(runView, results, { has_more: false });
  await printNextCommands(ctx, options, results);
  ctx.exitCode = worstCode(results.map(({ exit_code }) => exit_code));
  if (cause === null) return;
  const running = run.left.running.map(({ id }) => id);
  const unknown = run.left.unknown.map(({ id }) => id);
  const known = [...running, ...unknown].filter((id) => id !== null);
  await ctx.out.close();
  throw cause.with({
    ...(known.length > 0 && { hint: `wait for them: acs conv wait ${known.join(' ')}` }),
    data: { running, unknown, not_started: run.left.not_started.length },
  });
}

async function printNextCommands(
  ctx: Context,
  { repo }: NewOptions,
  results: readonly RunResult[],
): Promise<void> {
  const changed = results.flatMap(({ key, id, diff }) =>
    id === null || !diff?.files ? [] : [{ key, id }],
  );
  const flags = repo === false ? ' -o <folder>' : '';
  for (const { key, ...run } of changed)
    await showNext(ctx, run, `take run ${key}: acs conv pull ID${flags}`);
  const [one, two] = changed;
  if (one === undefined || two === undefined) return;
  await showNext(ctx, two, `compare two: acs conv diff ${shortId(one.id)} ID`);
}
