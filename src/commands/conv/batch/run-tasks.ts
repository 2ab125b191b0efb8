/** Runs the tasks of a batch, a few at a time. */
import type { Context, DryRunRequest } from '../../../context.ts';
import { AppError, isAppError, type ErrorKind } from '../../../errors.ts';
import { NOT_READ } from '../../../runs/endings.ts';
import type { Server } from '../../../servers/server.ts';
import { endOfDryRun, requestsKeptBack } from '../../bulk.ts';
import { derivedContext } from '../../derived-context.ts';
import { sizeOf } from '../../terminal-size.ts';
import { limitsOf } from '../../wait-limit.ts';
import { Board } from './board.ts';
import { createMemoryJournal, type Journal } from './journal.ts';
import { makeRoom, runTask, type TaskEnd, type TaskRun } from './task-run.ts';
import { NOT_STARTED, type Plan, type TaskResult } from './task-result.ts';
import type { Task } from './tasks.ts';

export interface PlannedTask {
  task: Task;
  plan: Exclude<Plan, 'skip'>;
  diff: TaskRun['diff'];
}

export interface Runner {
  ctx: Context;
  server: Server;
  /** As the journal names it. */
  serverName: string;
  journal: Journal;
  concurrency: number;
  onResult(result: TaskResult): Promise<void>;
}

/** What an early end leaves. */
interface Unfinished {
  /** Runs that continue without acs. */
  running: { key: string; id: string | null }[];
  /** The answer to the start, or the end of the run, could not be read. */
  unknown: { key: string; id: string | null }[];
  not_started: string[];
}

/** Of tasks without a result; `halted`: why others were not started. */
export interface BatchEnd extends Unfinished {
  halted: AppError | null;
}

/** Also by results: a task that a halted batch could not start, or not read, has one. */
export function unfinished(end: BatchEnd, results: readonly TaskResult[]): Unfinished {
  const withStatus = (status: string) => results.filter((result) => result.status === status);
  return {
    running: end.running,
    unknown: [...withStatus(NOT_READ).map(({ key, id }) => ({ key, id })), ...end.unknown],
    not_started: [...withStatus(NOT_STARTED).map(({ key }) => key), ...end.not_started],
  };
}

/** Errors that every other start would meet. */
const HALTING: ReadonlySet<string> = new Set<ErrorKind>(['auth', 'network', 'rate-limited']);
/** How many run at once by default. */
export const CONCURRENCY = 3;
/** How often a refused start is repeated while no task of the batch runs. */
const TURN_MS = 5_000;

/** Runs that continue come first: the server counts them already. */
export async function runTasks(runner: Runner, planned: readonly PlannedTask[]): Promise<BatchEnd> {
  const order = [...planned.filter(({ plan }) => plan !== 'start'), ...planned.filter(({ plan }) => plan === 'start')];
  const { ctx } = runner;
  const board = new Board({ total: planned.length, now: () => ctx.clock.now(), screen: () => sizeOf(ctx.io.stderr) });
  const batch = new Batch(runner, board, order);
  const isDryRun = ctx.globals.mode === 'dry-run';
  const progress = isDryRun ? null : await ctx.progress(() => board.lines(), 'nothing');
  const workers = Array.from({ length: Math.min(runner.concurrency, order.length) }, () => batch.work());
  try {
    await Promise.all(workers);
  } finally {
    await progress?.done();
  }
  return batch.end;
}

/** Of a dry run: throws its end, with the requests of all tasks. */
export async function planRequests(ctx: Context, server: Server, planned: readonly PlannedTask[]): Promise<never> {
  const kept: DryRunRequest[] = [];
  const journal = createMemoryJournal();
  const runner = { ctx, server, serverName: '', journal, concurrency: 1, onResult: () => Promise.resolve() };
  for (const task of planned) {
    await runTasks(runner, [task]).catch((error: unknown) => {
      const requests = requestsKeptBack(error);
      if (requests === null) throw error;
      kept.push(...requests);
    });
  }
  throw endOfDryRun(kept);
}

class Batch {
  readonly end: BatchEnd = { running: [], unknown: [], not_started: [], halted: null };
  private readonly runner: Runner;
  private readonly board: Board;
  /** Its notices are about all tasks, and are printed once. */
  private readonly shared: Context;
  private readonly queue: PlannedTask[];
  private readonly knownPauses = new Set<string>();
  /** Tasks that the server has refused for now. */
  private refused = 0;
  private active = 0;
  private wake: (() => void)[] = [];

  constructor(runner: Runner, board: Board, order: readonly PlannedTask[]) {
    this.runner = runner;
    this.board = board;
    this.shared = sharedContext(runner.ctx);
    this.queue = [...order];
  }

  async work(): Promise<void> {
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      const { key } = next.task;
      if (!this.isOver()) await this.runToEnd(next);
      else if (next.plan === 'start') this.end.not_started.push(key);
      else this.countOpen(key, 0);
    }
  }

  private isOver(): boolean {
    return this.end.halted !== null || this.runner.ctx.signal.aborted;
  }

  private async runToEnd(planned: PlannedTask): Promise<void> {
    const { board } = this;
    const { ctx } = this.runner;
    const { key } = planned.task;
    let { plan } = planned;
    const { deadlineMs } = limitsOf(ctx, planned.task.options);
    const live = board.start(key);
    let result: TaskResult | null = null;
    let attempt = 0;
    try {
      for (;;) {
        const run = this.runOf({ ...planned, plan }, live);
        attempt = run.attempt.attempt;
        const end = await this.runOnce(run);
        if (end.kind === 'refused' && ctx.clock.now() < deadlineMs && !this.isOver()) {
          board.waits(key);
          plan = 'start';
          await this.turn();
          if (!this.isOver()) continue;
        }
        result = await this.conclude(run, end);
        return;
      }
    } catch (error) {
      // What cannot be stored must not be followed by another start.
      if (!isAppError(error)) throw error;
      this.end.halted ??= error;
      const stored = this.runner.journal.of(key);
      if (stored.result === null || stored.attempts < attempt) this.countOpen(key, attempt);
    } finally {
      board.end(key, result);
      this.wakeAll();
    }
  }

  /** By what the journal has of a task without an end; an attempt that it does not have was not sent. */
  private countOpen(key: string, attempt: number): void {
    const { attempts, start, id, start_task_id, sent } = this.runner.journal.of(key);
    if (attempts < attempt || start === 'none') this.end.not_started.push(key);
    else if (start === 'taken') this.end.running.push({ key, id: id ?? start_task_id });
    else this.end.unknown.push({ key, id: sent?.id ?? null });
  }

  private runOf({ task, plan, diff }: PlannedTask, live: TaskRun['live']): TaskRun {
    const { ctx, server, serverName, journal } = this.runner;
    const state = journal.of(task.key);
    const attempt = plan === 'start' ? state.attempts + 1 : Math.max(1, state.attempts);
    return {
      ctx: taskContext(ctx, task.key),
      shared: this.shared,
      server,
      task,
      plan,
      journal,
      attempt: { key: task.key, task: task.fingerprint, attempt, server: serverName },
      live: ctx.io.stderr.isTTY ? live : null,
      knownPauses: this.knownPauses,
      diff,
    };
  }

  private async runOnce(run: TaskRun): Promise<TaskEnd> {
    this.active += 1;
    try {
      return await runTask(run);
    } finally {
      this.active -= 1;
    }
  }

  private async conclude(run: TaskRun, end: TaskEnd): Promise<TaskResult | null> {
    const { key } = run.task;
    if (end.kind === 'left') this.countOpen(key, run.attempt.attempt);
    if (end.kind === 'refused' && this.isOver()) this.end.not_started.push(key);
    if (end.kind === 'left' || (end.kind === 'refused' && this.isOver())) return null;
    const result = end.kind === 'refused' ? refusedResult(run, end.error) : end.result;
    if (end.kind === 'refused') await this.runner.journal.ended(result);
    const isHalting = result.status === NOT_STARTED && HALTING.has(result.reason?.code ?? '');
    if (isHalting) this.end.halted ??= new AppError(result.reason?.code as ErrorKind, result.reason?.text ?? '');
    await this.runner.onResult(result);
    if (end.kind === 'result' && end.conversation !== null && end.isDiffTaken && this.needsRoom()) {
      await makeRoom(run, end.conversation);
    }
    return result;
  }

  private needsRoom(): boolean {
    return !this.isOver() && (this.refused > 0 || this.queue.some(({ plan }) => plan === 'start'));
  }

  /** Resolves when another task has ended, after some time where none runs, and when the command ends. */
  private async turn(): Promise<void> {
    const { clock, signal } = this.runner.ctx;
    this.refused += 1;
    try {
      if (this.active === 0) return await clock.sleep(TURN_MS, signal).catch(() => undefined);
      await new Promise<void>((resolve) => {
        this.wake.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    } finally {
      this.refused -= 1;
    }
  }

  private wakeAll(): void {
    for (const resolve of this.wake.splice(0)) resolve();
  }
}

function refusedResult({ attempt }: TaskRun, { kind, message, exitCode }: AppError): TaskResult {
  return {
    key: attempt.key,
    id: null,
    status: NOT_STARTED,
    exit_code: exitCode,
    reason: { code: kind, text: message },
    attempts: attempt.attempt - 1,
    cost_usd: null,
    seconds: null,
    diff: null,
  };
}

function sharedContext(ctx: Context): Context {
  const printed = new Set<string>();
  const once = (print: (text: string) => Promise<void>) => async (text: string) => {
    if (printed.has(text)) return;
    printed.add(text);
    await print(text);
  };
  return derivedContext(ctx, { interactive: false, notice: once(ctx.notice), warn: once(ctx.warn) });
}

/** The notices of a task begin with its key; it has no prompts, and its status is in the live table. */
function taskContext(ctx: Context, key: string): Context {
  const { format: _format, fields: _fields, ...globals } = ctx.globals;
  const silent = { update: () => undefined, hide: () => undefined, show: () => undefined };
  const progress = { ...silent, done: () => Promise.resolve(), fail: () => Promise.resolve() };
  return derivedContext(ctx, {
    globals,
    interactive: false,
    exitCode: 0,
    notice: (text) => ctx.notice(`${key}: ${text}`),
    warn: (text) => ctx.warn(`${key}: ${text}`),
    progress: () => Promise.resolve(progress),
  });
}
