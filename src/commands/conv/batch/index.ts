import { createHash } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, DryRunStop, isAppError } from '../../../base/errors.ts';
import { fileDestination } from '../../../output/destination.ts';
import { jsonLine } from '../../../base/text/safe-text.ts';
import { jsonRecord } from '../../../output/view.ts';
import { unwritable } from '../../shared/files.ts';
import { explain } from '../../shared/declare.ts';
import { positiveInteger, someOf } from '../../shared/option-parsers.ts';
import { checkServer } from '../new/request.ts';
import { openJournal, planOf, RETRIES, serverName, type Journal, type Retry } from './journal.ts';
import { resultView, type TaskResult } from './results.ts';
import { Batch, CONCURRENCY, type PlannedTask } from './run-tasks.ts';
import { readTasks, type Task } from './tasks.ts';
import { cut } from '../../../base/text/well-formed.ts';

interface BatchOptions {
  concurrency: number;
  retry?: Retry[];
  diffDir?: string;
}

export function declare(command: Command, ctx: Context): void {
  command
    .argument(
      '<tasks.jsonl|->',
      'one JSON object a line: key, message, and the long flags of `conv new`',
    )
    .addOption(
      command
        .createOption('--concurrency <n>', 'how many run at once')
        .argParser(positiveInteger)
        .default(CONCURRENCY),
    )
    .option('--retry <failed|unknown>', 'start these again (repeatable)', someOf(RETRIES))
    .option('--diff-dir <dir>', 'write the diff of each task to <dir>/<key>.diff');
  explain(command, {
    output: 'target',
    notes: [
      'An example of a line: {"key":"lint","message":"Repair the lint ' +
        'errors.","repo":"owner/name"}. Members are the long flags of `acs conv new` (a flag ' +
        'without a value is true, a repeatable one may be a list), `message` and `key`, a ' +
        'name that no other line has. The limit of a task is its "wait-timeout".',
      'The results file of -o (default: <tasks>.results.jsonl beside the tasks) has one ' +
        'line for each task that has ended; the state is in <results>.state. The same command ' +
        'continues after Ctrl-C, a kill or a restart: it skips tasks whose run has ended, ' +
        'waits for runs that continue, and starts no task twice. A start whose answer was ' +
        'lost and that the server does not show is "unknown" (exit code 11); --retry unknown ' +
        'starts it again, --retry failed starts those that ended in error, were stopped or ' +
        'deleted. With --diff-dir the exit code is 1 when the diff of a finished task could ' +
        'not be read; the same command reads it again.',
      'A start that the server refuses at its limit of running sandboxes is repeated. While ' +
        'tasks are left to start, the sandbox of an ended run is paused, after its diff was ' +
        'taken. Ctrl-C ends acs; the runs continue.',
    ],
    json: ({ objectForm, listForm }) => [
      [
        'outside a terminal, and with ndjson',
        `${objectForm(resultView)}, one a line, as tasks end`,
      ],
      ['--json', listForm(resultView)],
    ],
    exits: ['failed', 'conflict', 'unsupported', 'interrupted'],
    examples: {
      'acs batch tasks.jsonl': 'run the tasks, three at a time; the same command continues',
      'acs batch tasks.jsonl -o run.jsonl --diff-dir diffs':
        'results in run.jsonl, diffs in diffs/',
    },
  });
  command.action((source: string, options: BatchOptions) =>
    runBatch(command, source, options, ctx),
  );
}

async function runBatch(
  command: Command,
  source: string,
  options: BatchOptions,
  ctx: Context,
): Promise<void> {
  // --output names the results file here; data goes to stdout.
  const { target: output, apiKeyFile, mode } = ctx.globals;
  if (source === '-' && apiKeyFile === '-')
    throw new AppError('usage', '"-" is given twice, and stdin can be read only once');
  if (output === undefined && source === '-')
    throw new AppError('usage', 'tasks from stdin need a results file: -o <file>');
  if (output === '' || output === '-') throw new AppError('usage', '-o needs the name of a file');
  const results = output ?? `${source.replace(/\.(jsonl|ndjson|json)$/, '')}.results.jsonl`;
  const file = `${results}.state`;
  ctx.out.check(resultView, 'list');
  const tasks = await readTasks(ctx, command, source);
  await refuseOtherFile(ctx, results, file);
  const { diffDir } = options;
  if (diffDir !== undefined && mode !== 'dry-run')
    await mkdir(path.resolve(ctx.local.cwd, diffDir), { recursive: true }).catch(
      (cause: unknown) => {
        throw unwritable(diffDir, cause);
      },
    );
  const opened = await openJournal(ctx, file);
  try {
    await continueBatch(ctx, { results, file, tasks, journal: opened.journal, options });
  } finally {
    opened.close();
  }
}

async function refuseOtherFile(ctx: Context, results: string, state: string): Promise<void> {
  const statsOf = (file: string) => stat(path.resolve(ctx.local.cwd, file)).catch(() => null);
  const stats = await statsOf(results);
  if (stats?.isFile() === false)
    throw new AppError('config', `cannot write ${results}: it is not a regular file`);
  if (!stats?.size || (await statsOf(state)) !== null) return;
  const text = `${results} exists already, without ${state}: it is not of this batch`;
  throw new AppError('conflict', text, { hint: 'give another file with -o' });
}

interface BatchFile {
  results: string;
  /** The file of the state. */
  file: string;
  tasks: readonly Task[];
  journal: Journal;
  options: BatchOptions;
}

async function continueBatch(ctx: Context, batch: BatchFile): Promise<void> {
  const { tasks, journal, options, file } = batch;
  refuseOtherTasks(batch);
  const server = await ctx.servers.active();
  const planned = planTasks(batch, serverName(server));
  const starts = planned.filter(({ plan }) => plan === 'start');
  for (const { task } of starts)
    await checkServer(server, task.options).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      throw error.with({}, `line ${task.line}: ${error.message}`);
    });
  const report = async ({ key, status, exit_code, reason }: TaskResult): Promise<void> => {
    const text = `${key}: ${status}${exit_code === 0 || reason === null ? '' : `: ${reason.text}`}`;
    await ctx.notice(text);
    if (exit_code !== 0) await ctx.terminal.quietError(text);
  };
  const runner = { ctx, server, journal };
  if (ctx.globals.mode === 'dry-run') {
    await new Batch({ ...runner, concurrency: 1, onResult: report }, starts).run();
    throw new DryRunStop();
  }
  const writeResults = resultsWriter(ctx, batch);
  const onResult = async (result: TaskResult): Promise<void> => {
    await writeResults();
    await report(result);
    await printLine(ctx, result);
  };
  const run = new Batch({ ...runner, concurrency: options.concurrency, onResult }, planned);
  const isPlanned = new Set(planned.map(({ task }) => task.key));
  const resultOf = ({ key }: Task) =>
    isPlanned.has(key) ? run.results.get(key) : journal.of(key).result;
  const ended = () => tasks.flatMap((task) => resultOf(task) ?? []);
  for (const result of ended()) await printLine(ctx, result);
  // A command that was killed may have stored a result in the state alone.
  if (journal.keys().length > 0) await writeResults();
  const cause = await run.run();
  const results = ended();
  if (printsList(ctx)) await ctx.out.list(resultView, results, { has_more: false });
  const isMissing = (diff: TaskResult['diff']) => options.diffDir !== undefined && diff === null;
  if (results.some(({ exit_code, diff }) => exit_code !== 0 || isMissing(diff))) ctx.exitCode = 1;
  if (cause === null) return;
  for (const { key, id } of run.left.running)
    await ctx.notice(`${key}: conversation ${id} continues`);
  await ctx.out.close();
  throw cause.with({
    exitCode: cause.kind === 'interrupted' ? cause.exitCode : 1,
    hint: `the same command continues it; its state is in ${file}`,
    data: run.left,
  });
}

function printsList({ globals: { format }, terminal }: Context): boolean {
  const isTable = format === undefined && terminal.io.stdout.isTTY;
  return isTable || format === 'table' || format === 'json';
}

async function printLine(ctx: Context, result: TaskResult): Promise<void> {
  const { format, fields } = ctx.globals;
  if (printsList(ctx)) return;
  if (format !== undefined) return await ctx.out.lines(resultView, [result]);
  await ctx.out.raw(jsonLine(ctx.out.redacted(jsonRecord(resultView, result, fields))));
}

/** The whole file each time: a task that is started again has one line. */
function resultsWriter(ctx: Context, { results, journal }: BatchFile): () => Promise<void> {
  let written = Promise.resolve();
  const write = async (): Promise<void> => {
    const stored = journal.keys().flatMap((key) => journal.of(key).result ?? []);
    const destination = fileDestination(results, ctx.local.cwd);
    try {
      await destination.write(
        stored.map((result) => jsonLine(ctx.out.redacted({ ...result }))).join(''),
      );
      await destination.close();
    } catch (error) {
      await destination.abandon();
      throw error;
    }
  };
  return () => (written = written.then(write));
}

function refuseOtherTasks({ tasks, journal, file }: BatchFile): void {
  const hint = 'give the changed task another key, or the batch another file with -o';
  for (const { key, line, fingerprint } of tasks) {
    const { task } = journal.of(key);
    if (task === null || task === fingerprint) continue;
    const text = `line ${line}: the task ${key} differs from the one that ${file} has`;
    throw new AppError('conflict', text, { hint });
  }
  const keys = journal.keys();
  if (keys.length > 0 && !tasks.some(({ key }) => keys.includes(key)))
    throw new AppError('conflict', `${file} has the results of other tasks`, { hint });
}

function planTasks(
  { tasks, journal, options: { retry = [], diffDir }, file }: BatchFile,
  serverNow: string,
): PlannedTask[] {
  const names = diffNames(tasks.map(({ key }) => key));
  return tasks.flatMap((task): PlannedTask[] => {
    const { key } = task;
    const state = journal.of(key);
    const plan = planOf(state, retry, diffDir === undefined ? 'none' : 'requested');
    if (plan === 'skip') return [];
    if (plan !== 'start' && state.server !== serverNow)
      throw new AppError('conflict', `${file}: the task ${key} was started at ${state.server}`, {
        hint: 'continue there, or give another file with -o',
      });
    const diff = diffDir === undefined ? null : path.join(diffDir, names.get(key) ?? '');
    return [{ task, plan, diff }];
  });
}

/** The key, with `%` escapes; a hash where it is too long or differs only in case. */
export function diffNames(keys: readonly string[]): Map<string, string> {
  const escape = (text: string): string =>
    Buffer.from(text).toString('hex').toUpperCase().replace(/../g, '%$&');
  const taken = new Set<string>();
  const nameOf = (key: string): string => {
    const whole = key.replace(/^[.\- ]|[^A-Za-z0-9._ -]/gu, escape);
    const hash = createHash('sha256').update(key).digest('hex').slice(0, 8);
    const name =
      whole.length > 150 || taken.has(whole.toLowerCase()) ? `${cut(whole, 150)}-${hash}` : whole;
    taken.add(name.toLowerCase());
    return `${name}.diff`;
  };
  return new Map(keys.map((key) => [key, nameOf(key)]));
}
