import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { mapConcurrently } from '../../../base/concurrent.ts';
import {
  AppError,
  type ErrorKind,
  EXIT_CODES,
  isAppError,
  isFailure,
  isOfKind,
} from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import { changedFiles, lineTotals } from '../../../domain/patch.ts';
import { LONGEST_TIMER_MS, type Limits } from '../../../runs/deadline.ts';
import { NOT_READ } from '../../../runs/outcome.ts';
import { poll, STEADY } from '../../../runs/poll.ts';
import { isRunInProgress } from '../../../runs/status.ts';
import { derivedContext, printingOnce, withinDeadline } from '../../shared/derived-context.ts';
import { unwritable } from '../../shared/files.ts';
import { limitsOf } from '../../shared/wait-limit.ts';
import { refuseUnstarted, waitForStart } from '../find-conversation.ts';
import { readChanges } from '../diff.ts';
import { completeDraft } from '../new/request.ts';
import { idOfStart, UNSENT, type Stage } from '../new/stage.ts';
import { Start } from '../new/start.ts';
import { serverName, type Journal, type Plan, type Step } from './journal.ts';
import { NOT_STARTED, UNKNOWN, type TaskResult } from './results.ts';
import type { Task } from './tasks.ts';

export interface PlannedTask {
  task: Task;
  plan: Exclude<Plan, 'skip'>;
  /** The file of the diff; `size`: only its size is read; null: nothing. */
  diff: string | 'size' | null;
}

interface Runner {
  ctx: Context;
  server: Server;
  journal: Journal;
  concurrency: number;
  onResult(result: TaskResult): Promise<void>;
}

export const CONCURRENCY = 3;
/** Errors that every other start would meet. */
const HALTING: ReadonlySet<string> = new Set<ErrorKind>(['auth', 'network', 'rate-limited']);

interface Attempt extends PlannedTask {
  ctx: Context;
  limits: Limits;
  step: Omit<Step, 'state'>;
  start: Start;
}

type OpenTask = Pick<TaskResult, 'key' | 'id'>;

export class Batch {
  /** The results of this command; keys are those of the tasks. */
  readonly results = new Map<string, TaskResult>();
  private readonly runner: Runner;
  private readonly planned: readonly PlannedTask[];
  private halted: AppError | null = null;
  private active = 0;
  /** Aborts when a task has ended, and is then replaced. */
  private nextEnd = new AbortController();
  /** Prints each notice once. */
  private readonly shared: Context;

  constructor(runner: Runner, planned: readonly PlannedTask[]) {
    const { ctx } = runner;
    this.runner = runner;
    // Runs that continue come first: the server counts them already.
    this.planned = planned.toSorted(
      (one, other) => Number(one.plan === 'start') - Number(other.plan === 'start'),
    );
    this.shared = derivedContext(printingOnce(ctx), { terminal: { interactive: false } });
  }

  /** @returns what has ended the batch early: a signal, or an error that every start would meet */
  async run(): Promise<AppError | null> {
    const { ctx, concurrency } = this.runner;
    const counts = (): string => {
      const failed = [...this.results.values()].filter(({ exit_code }) => exit_code !== 0).length;
      const ended = `${this.results.size} of ${this.planned.length} ended`;
      return `${ended}${failed === 0 ? '' : `, ${failed} not finished`}, ${this.active} running`;
    };
    const progress = await ctx.terminal.progress(counts, 'nothing');
    const runs = mapConcurrently(this.planned, concurrency, async (planned) => {
      if (!this.isOver()) await this.runToEnd(planned);
    });
    await runs.finally(() => progress.done());
    const cause = this.halted ?? (ctx.signal.aborted ? (ctx.signal.reason as AppError) : null);
    if (cause === null) return null;
    const { running, unknown, not_started } = this.left;
    const number = (count: number, one: string, many: string) =>
      `${count} ${count === 1 ? one : many}`;
    const parts = [
      number(running.length, 'run continues', 'runs continue'),
      ...(unknown.length === 0
        ? []
        : [`the state of ${number(unknown.length, 'run', 'runs')} is not known`]),
      number(not_started.length, 'task was not started', 'tasks were not started'),
    ];
    return cause.with({}, `${cause.message}; ${parts.join(', ')}`);
  }

  /** Runs that continue without acs, those whose start or end could not be read, and other keys. */
  get left(): { running: OpenTask[]; unknown: OpenTask[]; not_started: string[] } {
    const running: OpenTask[] = [];
    const unknown: OpenTask[] = [];
    const not_started: string[] = [];
    for (const planned of this.planned) {
      const { key } = planned.task;
      const result = this.results.get(key);
      const stage = this.stageOf(planned);
      if (result?.status === NOT_READ) unknown.push({ key, id: result.id });
      else if (result?.status === NOT_STARTED) not_started.push(key);
      else if (result !== undefined) continue;
      else if (stage.at === 'unsent') not_started.push(key);
      else (stage.at === 'sent' ? unknown : running).push({ key, id: idOfStart(stage) });
    }
    return { running, unknown, not_started };
  }

  private stageOf({ task, plan }: PlannedTask): Stage {
    const { stage, result } = this.runner.journal.of(task.key);
    // The result of an earlier attempt is kept until the next one is sent.
    return plan === 'start' && result !== null ? UNSENT : stage;
  }

  /** Starts in flight count: one that is refused needs the room as well. */
  private hasStartsLeft(): boolean {
    const isLeft = (each: PlannedTask): boolean =>
      !this.results.has(each.task.key) && ['unsent', 'sent'].includes(this.stageOf(each).at);
    return !this.isOver() && this.planned.some(isLeft);
  }

  private isOver(): boolean {
    return this.halted !== null || this.runner.ctx.signal.aborted;
  }

  private async runToEnd(planned: PlannedTask): Promise<void> {
    const { clock, signal } = this.runner.ctx;
    const { deadlineMs } = limitsOf(this.runner.ctx, planned.task.options);
    try {
      for (let { plan } = planned; ; plan = 'start') {
        const refusal = await this.attempt({ ...planned, plan });
        if (refusal === null || this.isOver()) return;
        if (clock.now() >= deadlineMs)
          return await this.store(blankResult(planned.task.key, refusal));
        // While no task of this batch runs, the runs of others may end.
        const ended = AbortSignal.any([signal, this.nextEnd.signal]);
        const pauseMs = this.active === 0 ? 5_000 : LONGEST_TIMER_MS;
        await clock.sleep(pauseMs, ended).catch(() => undefined);
        if (this.isOver()) return;
      }
    } catch (error) {
      if (!isAppError(error)) throw error;
      // What cannot be stored must not be followed by another start.
      this.halted ??= error;
    } finally {
      this.nextEnd.abort();
      this.nextEnd = new AbortController();
    }
  }

  /** Why the server does not take the start now; null when the task has a result or is left. */
  private async attempt(planned: PlannedTask): Promise<AppError | null> {
    const { server, journal } = this.runner;
    const { key, fingerprint, options } = planned.task;
    const ctx = taskContext(this.runner.ctx, key);
    const limits = limitsOf(ctx, options);
    const attempt = journal.of(key).attempts + Number(planned.plan === 'start');
    const step = { key, task: fingerprint, attempt, server: serverName(server) };
    const onStage = (stage: Stage): void => journal.enter(step, stage);
    const start = new Start(ctx, server, { ...options, ...limits, onStage });
    if (planned.plan !== 'start') start.stage = journal.of(key).stage;
    const at: Attempt = { ...planned, ctx, limits, step, start };
    this.active += 1;
    try {
      await this.reachEnd(at);
    } catch (error) {
      if (!isAppError(error) || journal.failure !== null) throw journal.failure ?? error;
      return await this.concludeError(at, error);
    } finally {
      this.active -= 1;
    }
    await this.concludeRun(at);
    return null;
  }

  private async concludeRun(at: Attempt): Promise<void> {
    const { server } = this.runner;
    const { ctx, start } = at;
    const { conversation, tracked, sentMs } = start;
    if (tracked === null) throw new AppError('internal', 'the run was not tracked');
    if (tracked.failure?.kind === 'interrupted') return;
    const { status, exit_code, reason, cost_usd } = tracked.outcome;
    const seconds = sentMs === null ? null : Math.round((ctx.clock.now() - sentMs) / 100) / 10;
    const isReadable = tracked.failure === null && !HALTED.has(exit_code);
    const diff = isReadable ? await takeDiff(ctx, server, conversation, at.diff) : null;
    const result = { key: at.task.key, id: conversation.id, status, exit_code, reason };
    await this.store({ ...result, cost_usd: cost_usd ?? conversation.cost_usd, seconds, diff });
    const isDiffTaken = at.diff === null || diff !== null;
    if (isDiffTaken && this.hasStartsLeft()) await makeRoom(at, server, conversation);
  }

  private async store(result: Omit<TaskResult, 'attempts'>): Promise<void> {
    const { journal, onResult } = this.runner;
    const { key, status, reason } = result;
    const stored = { ...result, attempts: journal.of(key).attempts };
    journal.append(stored);
    this.results.set(key, stored);
    if (status === NOT_STARTED && reason !== null && HALTING.has(reason.code))
      this.halted ??= new AppError(reason.code as ErrorKind, reason.text);
    await onResult(stored);
  }

  private async reachEnd(at: Attempt): Promise<void> {
    const { server } = this.runner;
    const { ctx, task, start, limits } = at;
    const earlier = await this.findEarlier(at);
    if (earlier !== null) {
      const begun = await withinDeadline(ctx, limits, (timed) =>
        waitForStart(timed, server, earlier),
      );
      refuseUnstarted(begun, task.key);
      return await start.attach(begun);
    }
    const draft = await task.draft();
    const { request, known } = await withinDeadline(this.shared, limits, async (timed) =>
      completeDraft(timed, await server.withSignal(timed.signal), draft, task.options),
    );
    await start.run(request, known);
  }

  /** Null: the start is to be sent. Throws `unknown-outcome`. */
  private async findEarlier({ plan, start, step }: Attempt): Promise<Conversation | null> {
    const { journal, server } = this.runner;
    const { stage } = start;
    if (stage.at === 'unsent') return null;
    if (stage.at !== 'sent')
      return await server.conversations.get(stage.start_task_id ?? stage.id ?? '');
    try {
      const conversation = await server.conversations.findStart(stage.sent);
      if (conversation !== null) return conversation;
      journal.enter(step, UNSENT);
    } catch (error) {
      if (plan !== 'retry' || !isOfKind('unknown-outcome')(error)) throw error;
      step.attempt += 1;
    }
    start.stage = UNSENT;
    return null;
  }

  private async concludeError(
    { ctx, step: { key }, start: { stage, sentMs } }: Attempt,
    error: AppError,
  ): Promise<AppError | null> {
    const { kind, details } = error;
    const isRefused = stage.at === 'unsent' && sentMs !== null;
    const isLimit = details.status === 409 || (details.status === 429 && details.retryable);
    // The same start may be taken when fewer conversations run.
    if (isRefused && isLimit) return error;
    if (ctx.signal.aborted || kind === 'interrupted') return null;
    const status = stage.at === 'unsent' ? NOT_STARTED : (STATUS_AFTER[kind] ?? NOT_READ);
    await this.store({ ...blankResult(key, error), id: idOfStart(stage), status });
    return null;
  }
}

/** Ends after which the sandbox cannot be read. */
const HALTED: ReadonlySet<number> = new Set([EXIT_CODES.conflict, EXIT_CODES['not-found']]);

/** The status of a run that was, or may have been started. */
const STATUS_AFTER: Partial<Record<ErrorKind, string>> = {
  'unknown-outcome': UNKNOWN,
  failed: 'failed',
};

/** A server with a limit pauses the oldest sandbox, which may still run; over V0 a stop does it. */
async function makeRoom(
  { ctx, task }: Attempt,
  server: Server,
  conversation: Conversation,
): Promise<void> {
  const { id, dialect, sandbox_id: sandbox } = conversation;
  if (task.options.sandbox !== undefined || id === '') return;
  try {
    if (dialect === 'v0') return await server.conversations.stop(id);
    if (sandbox === null) return;
    const { items } = await server.conversations.list({ sandboxId: sandbox }, null);
    if (items.some((other) => other.id !== id && isRunInProgress(other))) return;
    await server.conversations.untilStored(id);
    await server.sandboxes.pause(sandbox);
    const isPaused = async () =>
      (await server.sandboxes.get(sandbox)).status !== 'running' || undefined;
    await poll(isPaused, {
      clock: ctx.clock,
      signal: ctx.signal,
      every: STEADY,
      until: ctx.clock.now() + 30_000,
    });
  } catch (error) {
    if (!isFailure(error)) throw error;
    await ctx.warn(`its sandbox could not be paused: ${error.message}`);
  }
}

/** Null, with a warning, where the diff cannot be read or written. */
async function takeDiff(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  file: PlannedTask['diff'],
): Promise<TaskResult['diff']> {
  if (file === null) return null;
  const command = `acs conv diff ${conversation.id}`;
  try {
    const diff = await readChanges(ctx, server, conversation, { command });
    if (file !== 'size')
      await writeFile(path.resolve(ctx.local.cwd, file), diff.patch).catch((cause: unknown) => {
        throw unwritable(file, cause);
      });
    for (const omission of diff.omissions) await ctx.warn(`left out of the diff: ${omission}`);
    const files = changedFiles(diff);
    return { files: files.length, ...lineTotals(files) };
  } catch (error) {
    if (!isFailure(error)) throw error;
    await ctx.warn(`the diff was not taken (${error.message}); take it with: ${command} --resume`);
    return null;
  }
}

function blankResult(
  key: string,
  { kind, message, exitCode }: AppError,
): Omit<TaskResult, 'attempts'> {
  const reason = { code: kind, text: message };
  const unread = { cost_usd: null, seconds: null, diff: null };
  return { key, id: null, status: NOT_STARTED, exit_code: exitCode, reason, ...unread };
}

function taskContext(ctx: Context, key: string): Context {
  const silent = { update: () => undefined, hide: () => undefined, show: () => undefined };
  const progress = { ...silent, done: () => Promise.resolve(), fail: () => Promise.resolve() };
  return derivedContext(ctx, {
    globals: { format: undefined, fields: undefined },
    exitCode: 0,
    notice: (text) => ctx.notice(`${key}: ${text}`),
    warn: (text) => ctx.warn(`${key}: ${text}`),
    terminal: { interactive: false, progress: () => Promise.resolve(progress) },
  });
}
