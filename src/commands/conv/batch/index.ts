/** `acs batch`: many conversations from one file, and the state that another run of the same command continues. */
import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { AppError, isAppError, READER_GONE } from '../../../errors.ts';
import { recordOf } from '../../../output/fields.ts';
import { jsonLine } from '../../../output/json.ts';
import type { Server } from '../../../servers/server.ts';
import { explain } from '../../declare.ts';
import { positiveInteger, someOf } from '../../option-parsers.ts';
import { checkServer } from '../new-draft.ts';
import { diffNames, makeDiffFolder } from './diff-files.ts';
import { openJournal, readJournal, type Journal, type StoredStates } from './journal.ts';
import { CONCURRENCY, planRequests, runTasks, unfinished, type BatchEnd, type PlannedTask } from './run-tasks.ts';
import { planOf, resultView, RETRIES, type Retry, type TaskResult } from './task-result.ts';
import { readTasks, type Task } from './tasks.ts';

export interface BatchOptions {
  concurrency: number;
  retry?: Retry[];
  diffDir?: string;
}

export function declareBatch(parent: Command, ctx: Context): void {
  const command = parent.command('batch').description('start many conversations from a file, and wait for them');
  command
    .argument('<tasks.jsonl|->', 'one JSON object a line: key, message, and the long flags of `conv new`')
    .addOption(
      command.createOption('--concurrency <n>', 'how many run at once').argParser(positiveInteger).default(CONCURRENCY),
    )
    .option('--retry <failed|unknown>', 'start these again (repeatable)', someOf(RETRIES))
    .option(
      '--diff-dir <dir>',
      'write the diff of each task to <dir>/<key>.diff; without it, "diff" of a result is null',
    );
  explain(command, {
    notes: [
      'A line is such as {"key":"lint","message":"Repair the lint errors.","repo":"owner/name","branch":"main"}. Members are the long flags of `acs conv new` (a flag without a value is true, a repeatable one may be a list), `message` and `key`, a name that no other line has. The whole file is checked before anything is started.',
      'The results file of -o (default: <tasks>.results.jsonl beside the tasks) is also the state. Each start is stored there before it is sent. The same command continues after Ctrl-C, a kill or a restart: it skips tasks whose run has ended, waits for runs that continue, and starts no task twice. A start whose answer was lost is looked up; where the server does not show whether it was taken, the result is "unknown" (exit code 11), and only --retry unknown starts it again. --retry failed starts runs again that ended in error, were stopped or deleted.',
      'A server that refuses a start because too many run is asked again when a run of the batch has ended. While tasks are left to start, the sandbox of a run that has ended is paused, after its diff was taken, so that the server does not pause one that runs. Nothing is deleted; `acs conv send --resume` and `acs conv diff --resume` start it again.',
      'Ctrl-C ends acs; the runs continue. The limit of each task is its "wait-timeout".',
    ],
    json: ({ objectForm, listForm }) => [
      ['off a terminal, and with ndjson', `${objectForm(resultView)}, one a line, as tasks end`],
      ['--json', listForm(resultView)],
    ],
    exits: ['failed', 'conflict', 'unsupported', 'interrupted'],
    examples: [
      { command: 'acs batch tasks.jsonl', does: 'run the tasks, three at a time; the same command continues' },
      {
        command: 'acs batch tasks.jsonl -o run.jsonl --diff-dir diffs --concurrency 5',
        does: 'store results in run.jsonl and the diff of each task in diffs/',
      },
      { command: 'acs batch tasks.jsonl --retry failed', does: 'start the tasks again whose run failed' },
    ],
  });
  command.action((source: string, options: BatchOptions) => runBatch(command, source, options, ctx));
}

async function runBatch(command: Command, source: string, options: BatchOptions, ctx: Context): Promise<void> {
  const file = takeResultsFile(ctx, source);
  ctx.out.check(resultView, 'list');
  const tasks = await readTasks(ctx, command, source);
  const isDryRun = ctx.globals.mode === 'dry-run';
  if (isDryRun) {
    const journal = await readJournal(ctx, file);
    refuseOtherTasks(journal, tasks, file);
    return await planBatch(ctx, { source, file, tasks, journal, options });
  }
  if (options.diffDir !== undefined) await makeDiffFolder(ctx, options.diffDir);
  const journal = await openJournal(ctx, file);
  try {
    refuseOtherTasks(journal, tasks, file);
    await continueBatch(ctx, { source, file, tasks, journal, options });
  } finally {
    await journal.close();
  }
}

/** --output names the results file here; data goes to stdout. */
function takeResultsFile(ctx: Context, source: string): string {
  const { output, ...globals } = ctx.globals;
  if (source === '-' && globals.apiKeyFile === '-') {
    throw new AppError('usage', '"-" is given twice, and stdin can be read only once');
  }
  if (output === undefined && source === '-') {
    throw new AppError('usage', 'tasks from stdin need a results file: -o <file>');
  }
  if (output === '' || output === '-') throw new AppError('usage', '-o needs the name of a file, which is the state');
  ctx.globals = globals;
  return output ?? `${source.replace(/\.(jsonl|ndjson|json)$/, '')}.results.jsonl`;
}

/** Throws `conflict`: a key stands for the task that it was first started with. */
function refuseOtherTasks(journal: StoredStates, tasks: readonly Task[], file: string): void {
  const hint = 'give the changed task another key, or the batch another file with -o';
  for (const { key, line, fingerprint } of tasks) {
    const { task } = journal.of(key);
    if (task === null || task === fingerprint) continue;
    throw new AppError('conflict', `line ${line}: the task ${key} differs from the one that ${file} has`, { hint });
  }
  const keys = new Set(journal.keys());
  if (keys.size === 0 || tasks.some(({ key }) => keys.has(key))) return;
  throw new AppError('conflict', `${file} has the results of other tasks`, { hint });
}

interface Batch<J = Pick<StoredStates, 'of'>> {
  source: string;
  file: string;
  tasks: readonly Task[];
  journal: J;
  options: BatchOptions;
}

async function continueBatch(ctx: Context, batch: Batch<Journal>): Promise<void> {
  const { tasks, journal, options } = batch;
  const server = await ctx.server();
  const serverName = nameOf(server);
  const planned = planTasks(batch, serverName);
  for (const { task, plan } of planned) if (plan === 'start') await checkTask(server, task);
  const results = new Map<string, TaskResult>();
  const print = printer(ctx);
  const keep = async (result: TaskResult): Promise<void> => {
    results.set(result.key, result);
    await print(result);
  };
  const isPlanned = new Set(planned.map(({ task }) => task.key));
  for (const { key } of tasks) {
    const { result } = journal.of(key);
    if (!isPlanned.has(key) && result !== null) await keep(result);
  }
  const onResult = async (result: TaskResult): Promise<void> => {
    await ctx.notice(resultLine(result));
    await keep(result);
  };
  const runner = { ctx, server, serverName, journal, onResult, concurrency: options.concurrency };
  const end = await runTasks(runner, planned);
  const inOrder = tasks.flatMap(({ key }) => results.get(key) ?? []);
  const { format } = ctx.globals;
  if (format === 'json' || format === 'table' || (format === undefined && ctx.io.stdout.isTTY)) {
    await ctx.out.list(resultView, inOrder, { has_more: false });
  }
  await concludeBatch(ctx, batch, end, inOrder);
}

function planTasks({ tasks, journal, options, file }: Batch, serverName: string): PlannedTask[] {
  const names = diffNames(tasks.map(({ key }) => key));
  return tasks.flatMap((task): PlannedTask[] => {
    const state = journal.of(task.key);
    const plan = planOf(state, options.retry ?? []);
    if (plan === 'skip') return [];
    if (plan !== 'start' && state.server !== serverName) {
      throw new AppError(
        'conflict',
        `${file}: the task ${task.key} was started at ${state.server ?? 'another server'}`,
        {
          hint: 'continue there, or give another file with -o',
        },
      );
    }
    const diff = options.diffDir === undefined ? null : `${options.diffDir}/${names.get(task.key) ?? ''}`;
    return [{ task, plan, diff }];
  });
}

/** Throws for what this server lacks, before anything is started. */
async function checkTask(server: Server, { options, line }: Task): Promise<void> {
  try {
    await checkServer(server, options);
  } catch (error) {
    if (!isAppError(error)) throw error;
    throw new AppError(error.kind, `line ${line}: ${error.message}`, error.details);
  }
}

/** Off a terminal each result is a line of JSON, unless another format was given. */
function printer(ctx: Context): (result: TaskResult) => Promise<void> {
  const { format, fields } = ctx.globals;
  if (format === 'json' || format === 'table') return () => Promise.resolve();
  if (format !== undefined) return (result) => ctx.out.lines(resultView, [result]);
  if (ctx.io.stdout.isTTY) return () => Promise.resolve();
  return (result) => ctx.out.raw(jsonLine(ctx.out.redacted(recordOf(resultView, result, fields))));
}

function resultLine({ key, status, exit_code, reason }: TaskResult): string {
  return `${key}: ${status}${exit_code === 0 || reason === null ? '' : `: ${reason.text}`}`;
}

async function concludeBatch(
  ctx: Context,
  { file }: Batch,
  end: BatchEnd,
  results: readonly TaskResult[],
): Promise<void> {
  if (results.some(({ exit_code }) => exit_code !== 0)) ctx.exitCode = 1;
  if (end.halted === null && !ctx.signal.aborted) return;
  const { halted } = end;
  const { running, unknown, not_started } = unfinished(end, results);
  for (const { key, id } of running) await ctx.notice(`${key}: conversation ${id} continues`);
  const counts = [
    running.length === 1 ? '1 run continues' : `${running.length} runs continue`,
    ...(unknown.length === 0
      ? []
      : [`the state of ${unknown.length === 1 ? '1 run' : `${unknown.length} runs`} is not known`]),
    not_started.length === 1 ? '1 task was not started' : `${not_started.length} tasks were not started`,
  ];
  const cause = halted ?? (ctx.signal.reason as AppError);
  if (cause.exitCode === READER_GONE) throw cause;
  await ctx.out.close();
  throw new AppError(halted === null ? 'interrupted' : cause.kind, `${cause.message}; ${counts.join(', ')}`, {
    ...cause.details,
    exitCode: halted === null ? cause.exitCode : 1,
    hint: `the same command continues it; its state is in ${file}`,
    data: { running, unknown, not_started },
  });
}

/** As the results file names it: the port of the local service changes. */
function nameOf({ info: { flavour, base_url } }: Server): string {
  return flavour === 'local' ? 'local' : base_url;
}

async function planBatch(ctx: Context, batch: Batch): Promise<never> {
  const server = await ctx.server();
  const planned = planTasks(batch, nameOf(server));
  const isSent = ({ plan }: PlannedTask) => plan === 'start' || plan === 'retry';
  for (const { task } of planned.filter((each) => !isSent(each))) {
    await ctx.notice(`${task.key}: its earlier start is looked up, and its run is waited for`);
  }
  const starts = planned.filter(isSent).map(({ task }): PlannedTask => ({ task, plan: 'start', diff: null }));
  for (const { task } of starts) await checkTask(server, task);
  return await planRequests(ctx, server, starts);
}
