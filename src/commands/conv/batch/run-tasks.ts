import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import {
  AppError,
  type ErrorKind,
  EXIT_CODES,
  isAppError,
  isFailure,
  fileProblem,
} from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import { changedFiles, lineTotals } from '../../../domain/patch.ts';
import { LONGEST_TIMER_MS, type Limits } from '../../../runs/deadline.ts';
import { NOT_READ } from '../../../runs/outcome.ts';
import { poll, STEADY } from '../../../runs/poll.ts';
import { isRunInProgress } from '../../../runs/status.ts';
import { derivedContext, withinDeadline } from '../../shared/derived-context.ts';
import { limitsOf } from '../../shared/wait-limit.ts';
import { refuseUnstarted } from '../conversations.ts';
import { readChanges } from '../diff.ts';
import { completeDraft } from '../new/request.ts';
import { UNSENT, type Stage } from '../new/stage.ts';
import { Start } from '../new/start.ts';
import { waitForStart } from '../wait.ts';
import type { Journal, Plan, Step } from './journal.ts';
import { NOT_STARTED, UNKNOWN, type TaskResult } from './results.ts';
import type { Task } from './tasks.ts';

export interface PlannedTask {
  task: Task;
  plan: Exclude<Plan, 'skip'>;
  /** The file of the diff; `size`: only its size is read; null: nothing. */
  diff: string | 'size' | null;
}

export interface Runner {
  ctx: Context;
  server: Server;
  serverName: string;
  journal: Journal;
  concurrency: number;
  onResult(result: TaskResult): Promise<void>;
}

type OpenTask = Pick<TaskResult, 'key' | 'id'>;

export const CONCURRENCY = 3;
/** Errors that every other start would meet. */
const HALTING: ReadonlySet<string> = new Set<ErrorKind>(['auth', 'network', 'rate-limited']);

interface Attempt extends PlannedTask {
  ctx: Context;
  limits: Limits;
  step: Omit<Step, 'state'>;
  start: Start;
  /** When this command has sent the start; null: another one has. */
  sentMs: number | null;
}

export class Batch {
  /**
   * After an early end: runs that continue without acs; those whose start or end could not be read;
   * keys of the others.
   */
  readonly left = {
    running: [] as OpenTask[],
    unknown: [] as OpenTask[],
    not_started: [] as string[],
  };
  private readonly runner: Runner;
  private readonly queue: PlannedTask[];
  private readonly total: number;
  private halted: AppError | null = null;
  /**
   * Keys of tasks whose start the server has not taken yet, those with a request in flight
   * included.
   */
  private readonly unstarted: Set<string>;
  private active = 0;
  private ended = 0;
  private failed = 0;
  /** Aborts when a task has ended, and is then replaced. */
  private nextEnd = new AbortController();
  /** Prints each notice once. */
  private readonly shared: Context;

  /** Runs that continue come first: the server counts them already. */
  constructor(runner: Runner, planned: readonly PlannedTask[]) {
    const { ctx } = runner;
    this.runner = runner;
    this.queue = planned.toSorted(
      (one, other) => Number(one.plan === 'start') - Number(other.plan === 'start'),
    );
    this.total = planned.length;
    this.unstarted = new Set(
      planned.filter(({ plan }) => plan === 'start').map(({ task }) => task.key),
    );
    const printed = new Set<string>();
    const once = (print: (text: string) => Promise<void>) => async (text: string) => {
      if (printed.has(text)) return;
      printed.add(text);
      await print(text);
    };
    this.shared = derivedContext(ctx, {
      terminal: { interactive: false },
      notice: once(ctx.notice),
      warn: once(ctx.warn),
    });
  }

  /**
   * What has ended the batch early, with the counts of what is left: a signal, or an error that
   * every start would meet.
   */
  async run(): Promise<AppError | null> {
    const { ctx, concurrency } = this.runner;
    const counts = (): string => {
      const notFinished = this.failed === 0 ? '' : `, ${this.failed} not finished`;
      return `${this.ended} of ${this.total} ended${notFinished}, ${this.active} running`;
    };
    const progress = await ctx.terminal.progress(counts, 'nothing');
    const work = async (): Promise<void> => {
      for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
        if (!this.isOver()) await this.runToEnd(next);
        else if (next.plan === 'start') this.left.not_started.push(next.task.key);
        else this.leave(next.task.key, 0);
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(concurrency, this.queue.length) }, work));
    } finally {
      await progress.done();
    }
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
    const { details, exitCode } = cause;
    return new AppError(cause.kind, `${cause.message}; ${parts.join(', ')}`, {
      ...details,
      exitCode,
    });
  }

  private isOver(): boolean {
    return this.halted !== null || this.runner.ctx.signal.aborted;
  }

  private async runToEnd(planned: PlannedTask): Promise<void> {
    const { ctx, journal } = this.runner;
    const { key, options } = planned.task;
    const { deadlineMs } = limitsOf(ctx, options);
    let attempt = 0;
    try {
      for (let { plan } = planned; ; plan = 'start') {
        attempt = journal.of(key).attempts + Number(plan === 'start');
        const refusal = await this.attempt(this.attemptOf({ ...planned, plan }, attempt));
        if (refusal === null) return;
        if (!this.isOver() && ctx.clock.now() >= deadlineMs)
          return await this.store({ ...blankResult(key, refusal), attempts: attempt - 1 });
        await this.untilNextEnd();
        if (this.isOver()) return void this.left.not_started.push(key);
      }
    } catch (error) {
      if (!isAppError(error)) throw error;
      // What cannot be stored must not be followed by another start.
      this.halted ??= error;
      const stored = journal.of(key);
      if (stored.result === null || stored.attempts < attempt) this.leave(key, attempt);
    } finally {
      this.unstarted.delete(key);
      this.nextEnd.abort();
      this.nextEnd = new AbortController();
    }
  }

  /** Of a task of this batch. While none runs, the runs of others may end. */
  private async untilNextEnd(): Promise<void> {
    if (this.isOver()) return;
    const { clock, signal } = this.runner.ctx;
    const ended = AbortSignal.any([signal, this.nextEnd.signal]);
    await clock.sleep(this.active === 0 ? 5_000 : LONGEST_TIMER_MS, ended).catch(() => undefined);
  }

  private attemptOf(planned: PlannedTask, attempt: number): Attempt {
    const { server, serverName, journal } = this.runner;
    const { key, fingerprint, options } = planned.task;
    const ctx = taskContext(this.runner.ctx, key);
    const limits = limitsOf(ctx, options);
    const step = { key, task: fingerprint, attempt, server: serverName };
    const onStage = (stage: Stage): void => {
      journal.enter(step, stage);
      if (stage.at === 'sent') at.sentMs = ctx.clock.now();
      else if (stage.at !== 'unsent') this.unstarted.delete(key);
    };
    const start = new Start(ctx, server, { ...options, ...limits, onStage });
    if (planned.plan !== 'start') start.stage = journal.of(key).stage;
    const at: Attempt = { ...planned, ctx, limits, step, start, sentMs: null };
    return at;
  }

  private leave(key: string, attempt: number): void {
    const { attempts, stage } = this.runner.journal.of(key);
    if (attempts < attempt || stage.at === 'unsent') this.left.not_started.push(key);
    else if (stage.at === 'sent') this.left.unknown.push({ key, id: stage.sent.id });
    else this.left.running.push({ key, id: stage.id ?? stage.start_task_id });
  }

  /** Why the server does not take the start now; null when the task has a result or is left. */
  private async attempt(at: Attempt): Promise<AppError | null> {
    const { journal, server } = this.runner;
    const { ctx, start } = at;
    this.active += 1;
    try {
      await this.reachEnd(at);
    } catch (error) {
      if (!isAppError(error) || journal.failure !== null) throw journal.failure ?? error;
      return await this.concludeError(at, error);
    } finally {
      this.active -= 1;
    }
    const { key, attempt: attempts } = at.step;
    const { conversation, tracked } = start;
    if (tracked === null) throw new AppError('internal', 'the run was not tracked');
    if (tracked.failure?.kind === 'interrupted') {
      this.leave(key, attempts);
      return null;
    }
    const { status, exit_code, reason, cost_usd } = tracked.outcome;
    const seconds =
      at.sentMs === null ? null : Math.round((ctx.clock.now() - at.sentMs) / 100) / 10;
    const isReadable = tracked.failure === null && !HALTED.has(exit_code);
    const diff = isReadable ? await takeDiff(ctx, server, conversation, at.diff) : null;
    const result = { key, id: conversation.id, status, exit_code, reason, attempts };
    await this.store({ ...result, cost_usd: cost_usd ?? conversation.cost_usd, seconds, diff });
    // A start that is refused while its request is repeated needs the room as well, so those in
    // flight count.
    const needsRoom = !this.isOver() && this.unstarted.size > 0;
    if (needsRoom && (at.diff === null || diff !== null)) await makeRoom(at, server, conversation);
    return null;
  }

  private async store(result: TaskResult): Promise<void> {
    const { key, id, status, reason, exit_code } = result;
    this.runner.journal.append(result);
    this.ended += 1;
    if (exit_code !== 0) this.failed += 1;
    if (status === NOT_READ) this.left.unknown.push({ key, id });
    if (status === NOT_STARTED) this.left.not_started.push(key);
    if (status === NOT_STARTED && reason !== null && HALTING.has(reason.code))
      this.halted ??= new AppError(reason.code as ErrorKind, reason.text);
    await this.runner.onResult(result);
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
    this.unstarted.add(task.key);
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
      const found = await server.conversations.findStart(stage.sent);
      if (found !== null) return found;
      journal.enter(step, UNSENT);
    } catch (error) {
      if (plan !== 'retry' || !isAppError(error) || error.kind !== 'unknown-outcome') throw error;
      step.attempt += 1;
    }
    start.stage = UNSENT;
    return null;
  }

  private async concludeError(at: Attempt, error: AppError): Promise<AppError | null> {
    const { key, attempt } = at.step;
    const { kind, details } = error;
    const { stage } = at.start;
    const isRefused = stage.at === 'unsent' && at.sentMs !== null;
    const isLimit =
      details.status === 409 || (details.status === 429 && details.retryable === true);
    // The same start may be taken when fewer conversations run.
    if (isRefused && isLimit) return error;
    if (at.ctx.signal.aborted || kind === 'interrupted') {
      this.leave(key, attempt);
      return null;
    }
    const result = blankResult(key, error);
    if (stage.at === 'unsent') await this.store({ ...result, attempts: attempt - 1 });
    else {
      const id = stage.at === 'sent' ? stage.sent.id : (stage.id ?? stage.start_task_id);
      const status = STATUS_AFTER[kind] ?? NOT_READ;
      await this.store({ ...result, id, status, attempts: attempt });
    }
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

/**
 * A server with a limit would pause the oldest sandbox, which may still run. Over V0 a stop does
 * the same.
 */
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

/**
 * Null, with a warning, where the diff cannot be read or written. `size`: only the size is read.
 */
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
        throw new AppError('config', `cannot write ${file}: ${fileProblem(cause).reason}`, {
          cause,
        });
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

function blankResult(key: string, { kind, message, exitCode }: AppError): TaskResult {
  const unknown = { id: null, attempts: 0, cost_usd: null, seconds: null, diff: null };
  return {
    ...unknown,
    key,
    status: NOT_STARTED,
    exit_code: exitCode,
    reason: { code: kind, text: message },
  };
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
