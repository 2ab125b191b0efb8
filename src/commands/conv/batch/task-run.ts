/** One task of a batch: its start, or the run that an earlier command has started, until the result is stored. */
import type { Conversation } from '../../../domain/conversation.ts';
import type { Context } from '../../../context.ts';
import { changedFiles } from '../../../domain/patch.ts';
import { AppError, EXIT_CODES, isAppError } from '../../../errors.ts';
import { NOT_READ } from '../../../runs/endings.ts';
import { poll, STEADY } from '../../../runs/poll.ts';
import { isRunInProgress } from '../../../runs/status.ts';
import type { TrackedRun } from '../../../runs/outcome.ts';
import type { SentStart, Server } from '../../../servers/server.ts';
import { withinDeadline } from '../../../runs/deadline.ts';
import { limitsOf } from '../../wait-limit.ts';
import { readChanges } from '../changes.ts';
import type { LiveRun } from '../live-run.ts';
import { Announcer } from '../new-announce.ts';
import { completeDraft } from '../new-draft.ts';
import { startAndTrack, trackToEnd, type StartOptions } from '../new-start.ts';
import { waitForStart } from '../wait-for-start.ts';
import { writeDiff } from './diff-files.ts';
import type { Attempt, Journal, StartedIds } from './journal.ts';
import { NOT_STARTED, sizeOf, UNKNOWN, type DiffSize, type Plan, type TaskResult } from './task-result.ts';
import type { Task } from './tasks.ts';

export interface TaskRun {
  /** Prints with the key, and has no prompts. */
  ctx: Context;
  /** For what is about all tasks of the batch. */
  shared: Context;
  server: Server;
  task: Task;
  plan: Exclude<Plan, 'skip'>;
  journal: Journal;
  attempt: Attempt;
  /** Null where nothing is shown of it. */
  live: LiveRun | null;
  /** Sandboxes that the batch has paused, or has named as paused. */
  knownPauses: Set<string>;
  /** Where the diff is written; `size`: only its size is read; null: nothing. */
  diff: string | 'size' | null;
}

/**
 * `refused`: the server has too many running, and the task waits for its turn. `left`: a signal ended the wait; the run
 * continues where it has one.
 */
export type TaskEnd =
  | { kind: 'result'; result: TaskResult; conversation: Conversation | null; isDiffTaken: boolean }
  | { kind: 'refused'; error: AppError }
  | { kind: 'left' };

/** What happened so far in an attempt. */
interface Progress {
  sent: SentStart | null;
  taken: StartedIds | null;
  /** When this command has sent the start; null: another one has. */
  sentMs: number | null;
}

export async function runTask(run: TaskRun): Promise<TaskEnd> {
  const { journal, attempt } = run;
  const before = journal.of(attempt.key);
  const at: Progress =
    run.plan === 'start'
      ? { sent: null, taken: null, sentMs: null }
      : { sent: before.sent, taken: before.start === 'taken' ? before : null, sentMs: null };
  try {
    const { conversation, tracked } = await reachEnd(run, at);
    return await conclude(run, conversation, tracked, at.sentMs);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return await concludeError(run, at, error);
  }
}

async function reachEnd(run: TaskRun, at: Progress): Promise<{ conversation: Conversation; tracked: TrackedRun }> {
  const { ctx, server, task } = run;
  const { options } = task;
  const limits = limitsOf(ctx, options);
  const announcer = new TaskAnnouncer(run, at);
  const how = {
    ...options,
    ...limits,
    isWhole: true,
    stay: 'ended' as const,
    announcer,
    ...(run.live === null ? {} : { live: run.live }),
    knownPauses: run.knownPauses,
  };
  const earlier = await earlierStart(run, at);
  if (earlier !== null) {
    const begun = await withinDeadline(ctx, limits, (timed) => waitForStart(timed, server, earlier));
    if (begun.id === '') throw failedStart(begun);
    await announcer.known(begun.id, begun.start_task_id, begun.url);
    return await trackToEnd(ctx, server, begun, how);
  }
  const draft = await task.draft();
  const { request, known } = await withinDeadline(run.shared, limits, async (timed) =>
    completeDraft(timed, await server.withSignal(timed.signal), draft, options),
  );
  if (known !== null) await announcer.known(known.id, known.start_task_id, known.url);
  const beforeSend: StartOptions['beforeSend'] = async (sent) => {
    await run.journal.starting(run.attempt, sent);
    at.sent = sent;
    at.sentMs = ctx.clock.now();
  };
  const started = await startAndTrack(ctx, server, request, { ...how, known, beforeSend });
  if (started.tracked === null) throw new AppError('internal', 'the run was not tracked');
  return { conversation: started.conversation, tracked: started.tracked };
}

/** Null: nothing was started, the server has not taken the start, or it is retried. Throws `unknown-outcome`. */
async function earlierStart(run: TaskRun, at: Progress): Promise<Conversation | null> {
  const { server, plan, journal, attempt } = run;
  if (plan === 'attach' && at.taken !== null) {
    const { id, start_task_id } = at.taken;
    return await server.conversations.get(id ?? start_task_id ?? '');
  }
  if (plan === 'start' || at.sent === null) return null;
  const found = await server.conversations.findStart(at.sent).catch((error: unknown) => {
    if (plan !== 'retry' || !isAppError(error) || error.kind !== 'unknown-outcome') throw error;
    run.attempt = { ...attempt, attempt: attempt.attempt + 1 };
    return 'unknown' as const;
  });
  if (found !== null && found !== 'unknown') return found;
  if (found === null) await journal.notStarted(attempt);
  at.sent = null;
  return null;
}

function failedStart({ start_task_id, reason }: Conversation): AppError {
  const text = `start task ${start_task_id ?? ''} failed: ${reason?.text ?? 'no reason is known'}`;
  return new AppError('failed', text, { data: { start_task_id } });
}

/** Stores what the server has taken before it is printed. */
class TaskAnnouncer extends Announcer {
  private readonly run: TaskRun;
  private readonly at: Progress;

  constructor(run: TaskRun, at: Progress) {
    super(run.ctx, run.server, { changed: true });
    this.run = run;
    this.at = at;
  }

  override async known(id: string | null, startTaskId: string | null, url: string | null): Promise<void> {
    const { taken } = this.at;
    const ids = { id: id ?? taken?.id ?? null, start_task_id: startTaskId || (taken?.start_task_id ?? null) };
    if (taken === null || taken.id !== ids.id || taken.start_task_id !== ids.start_task_id) {
      this.at.taken = ids;
      await this.run.journal.started(this.run.attempt, ids);
    }
    await super.known(id, startTaskId, url);
  }
}

async function conclude(
  run: TaskRun,
  conversation: Conversation,
  { outcome, failure }: TrackedRun,
  sentMs: number | null,
): Promise<TaskEnd> {
  if (failure?.kind === 'interrupted') return { kind: 'left' };
  const seconds = sentMs === null ? null : Math.round((run.ctx.clock.now() - sentMs) / 100) / 10;
  // The sandbox of a run that was halted cannot be read.
  const isHalted = outcome.exit_code === EXIT_CODES.conflict || outcome.exit_code === EXIT_CODES['not-found'];
  const hasDiff = failure === null && !isHalted;
  const diff = run.diff !== null && hasDiff ? await takeDiff(run, conversation) : null;
  const { key, attempt } = run.attempt;
  const result: TaskResult = {
    key,
    id: conversation.id,
    status: outcome.status,
    exit_code: outcome.exit_code,
    reason: outcome.reason,
    attempts: attempt,
    cost_usd: outcome.cost_usd ?? conversation.cost_usd,
    seconds,
    diff,
  };
  await run.journal.ended(result);
  return { kind: 'result', result, conversation, isDiffTaken: run.diff === null || diff !== null };
}

/** Null, with a warning, where it cannot be read or written. */
async function takeDiff({ ctx, server, diff: file }: TaskRun, conversation: Conversation): Promise<DiffSize | null> {
  try {
    const diff = await readChanges(ctx, server, conversation, { command: `acs conv diff ${conversation.id}` });
    if (file !== null && file !== 'size') await writeDiff(ctx, file, diff.patch);
    for (const omission of diff.omissions) await ctx.warn(`left out of the diff: ${omission}`);
    return sizeOf(changedFiles(diff));
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    await ctx.warn(
      `the diff was not taken (${error.message}); take it with: acs conv diff ${conversation.id} --resume`,
    );
    return null;
  }
}

async function concludeError(run: TaskRun, at: Progress, error: AppError): Promise<TaskEnd> {
  const { ctx, journal, attempt } = run;
  const isRefused = at.sent !== null && at.taken === null && isRefusal(error);
  if (isRefused) await journal.notStarted(attempt);
  if (isRefused && isForNow(error)) return { kind: 'refused', error };
  if (ctx.signal.aborted || error.kind === 'interrupted') return { kind: 'left' };
  const isStarted = at.sent !== null && !isRefused;
  const other = error.details.data?.['conversation_id'];
  const known = at.taken?.id ?? (at.taken !== null && typeof other === 'string' ? other : null);
  const result: TaskResult = {
    key: attempt.key,
    id: known ?? (isStarted ? (at.sent?.id ?? null) : null),
    status: statusAfter(error, isStarted || at.taken !== null),
    exit_code: error.exitCode,
    reason: { code: error.kind, text: error.message },
    attempts: isStarted || at.taken !== null ? attempt.attempt : attempt.attempt - 1,
    cost_usd: null,
    seconds: null,
    diff: null,
  };
  await journal.ended(result);
  return { kind: 'result', result, conversation: null, isDiffTaken: false };
}

function statusAfter({ kind }: AppError, isStarted: boolean): string {
  if (!isStarted) return NOT_STARTED;
  if (kind === 'unknown-outcome') return UNKNOWN;
  return kind === 'failed' ? 'failed' : NOT_READ;
}

/** Whether the server has answered that it does not take the start, or was never sent it. */
function isRefusal({ kind, details }: AppError): boolean {
  const { status = 0, data } = details;
  if (data?.['changed'] === false) return true;
  if (kind === 'network') return true;
  return status >= 400 && status < 500 && data?.['conversation_id'] === undefined;
}

/** Whether the same start may be taken when fewer conversations run. */
function isForNow({ details: { status, retryable } }: AppError): boolean {
  return status === 409 || (status === 429 && retryable === true);
}

/** A server that takes longer to pause a sandbox is not waited for. */
const PAUSE_MS = 30_000;

/**
 * Pauses the sandbox of a run that has ended, so that a server with a limit has room for the next start: it would pause
 * the oldest one itself, which may still run. Over V0 the conversation is stopped, which is the same there. Files are kept.
 */
export async function makeRoom(run: TaskRun, { id, dialect, sandbox_id: sandbox }: Conversation): Promise<void> {
  const { ctx, server, task, knownPauses } = run;
  if (task.options.sandbox !== undefined || id === '') return;
  try {
    if (dialect === 'v0') return await server.conversations.stop(id);
    if (sandbox === null) return;
    const { items } = await server.conversations.list({ sandboxId: sandbox }, null);
    if (items.some((other) => other.id !== id && isRunInProgress(other))) return;
    await server.conversations.untilStored(id);
    knownPauses.add(sandbox);
    await server.sandboxes.pause(sandbox);
    const isPaused = async () => (await server.sandboxes.get(sandbox)).status !== 'running' || undefined;
    await poll(isPaused, { clock: ctx.clock, signal: ctx.signal, every: STEADY, until: ctx.clock.now() + PAUSE_MS });
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    await ctx.warn(`its sandbox could not be paused: ${error.message}`);
  }
}
