/**
 * Sends a start and waits as long as the flags say. The id is printed as soon as it exists, because the run may
 * continue whatever happens afterwards (a deadline, a signal, a failing server).
 */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { NO_EVIDENCE, type TrackedRun } from '../../runs/outcome.ts';
import { trackRun } from '../../runs/tracker.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server, StartOptions as SendOptions } from '../../servers/server.ts';
import type { Progress } from '../../terminal/progress.ts';
import { formatDuration } from '../../text/duration.ts';
import { endOfDryRun } from '../bulk.ts';
import { LAST_LOOK_MS, timeLimit, type Limits, withinLimit } from '../../runs/deadline.ts';
import { watchOthers } from '../paused-others.ts';
import { answerer } from './answering.ts';
import { showRun } from './follow.ts';
import type { LiveRun } from './live-run.ts';
import type { NewOptions, Stay } from './new-options.ts';
import type { Announcer } from './new-announce.ts';
import { afterFailedStart } from './new-failed.ts';
import { stopIfAsked } from './new-stop.ts';
import { named, type StartLimit } from './new-title.ts';

/** `known`: the conversation of an earlier start with the same id and request; it is stayed with, and nothing is sent. */
export type StartOptions = NewOptions &
  Limits & {
    stay: Stay;
    /** The limits are for all of the command, and not for the wait alone. */
    isWhole: boolean;
    known: Conversation | null;
    announcer: Announcer;
    /** Called once the server has taken the start. */
    onStarted?: () => void;
    beforeSend?: SendOptions['beforeSend'];
    /** Is given what the run does, without --follow. */
    live?: LiveRun;
    /** Paused sandboxes that no notice names: see watchOthers. */
    knownPauses?: Set<string>;
  };

/** The conversation as it was read last, and its run where that was waited for. */
export interface Started {
  conversation: Conversation;
  tracked: TrackedRun | null;
}

/** Starts the conversation and waits until what `stay` names; prints only what `announcer` prints. */
export async function startAndTrack(
  ctx: Context,
  server: Server,
  request: NewConversation,
  options: StartOptions,
): Promise<Started> {
  const { known, announcer } = options;
  if (known !== null) {
    await announcer.existing(known);
    if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  }
  const conversation = known ?? (await startAnew(ctx, server, request, options));
  if (options.stay !== 'ended') return { conversation, tracked: null };
  return await trackToEnd(ctx, server, conversation, options);
}

/** Waits for the end of a run; also of one that another command has started. */
export async function trackToEnd(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: Omit<StartOptions, 'known'>,
): Promise<{ conversation: Conversation; tracked: TrackedRun }> {
  const tracked = await stay(ctx, server, conversation, options);
  const { end, after } = await stopIfAsked(ctx, server, tracked, conversation, options);
  const last = after === null ? conversation : { ...after, start_task_id: conversation.start_task_id };
  return { conversation: await lastRecord(ctx, server, last, end), tracked: end };
}

/** Sends the start and names what came of it. Throws what a failed start leaves, and the end of a dry run. */
async function startAnew(
  ctx: Context,
  server: Server,
  request: NewConversation,
  options: StartOptions,
): Promise<Conversation> {
  const limit = startLimit(ctx, options);
  try {
    return await startWithin(ctx, server, request, { ...options, limit });
  } finally {
    limit.clear();
  }
}

type Limited = StartOptions & { limit: StartLimit };

/** The start and the requests around it, which all end with its time. */
async function startWithin(
  ctx: Context,
  server: Server,
  request: NewConversation,
  options: Limited,
): Promise<Conversation> {
  const { limit } = options;
  const bound = await server.withSignal(AbortSignal.any([ctx.signal, limit.signal]));
  const printPaused = await lookAtOthers(ctx, server, limit.leftMs() / 2, options.knownPauses);
  // Its request needs the id that the start brings.
  const { title } = options;
  if (title !== undefined && ctx.globals.mode === 'dry-run') await ctx.notice(`then: name it "${title}"`);
  let conversation: Conversation;
  try {
    conversation = await start(ctx, bound, request, options);
    if (ctx.globals.mode !== 'dry-run' && title !== undefined)
      conversation = await named(bound, conversation, title, limit);
  } catch (error) {
    throw await afterFailedStart(ctx, server, error, options);
  }
  if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  options.onStarted?.();
  await printPaused(bound);
  return conversation;
}

/** See watchOthers. The read before the start leaves the start its time. */
async function lookAtOthers(
  ctx: Context,
  server: Server,
  mostMs: number,
  known?: Set<string>,
): ReturnType<typeof watchOthers> {
  const over = new AppError('timeout', 'the server did not list its sandboxes in time');
  return await withinLimit(ctx, server, { mostMs, over }, (bounded) => watchOthers(ctx, bounded, known));
}

/** @param server ends its requests with the time for the start */
async function start(
  ctx: Context,
  server: Server,
  request: NewConversation,
  { announcer, stay, limit, beforeSend }: Limited,
): Promise<Conversation> {
  const progress = lazyProgress(ctx);
  try {
    const signal = AbortSignal.any([ctx.signal, limit.signal]);
    const until = stay === 'accepted' ? 'accepted' : 'started';
    const steps = server.conversations.start(request, {
      signal,
      until,
      ...(beforeSend === undefined ? {} : { beforeSend }),
    });
    for (;;) {
      const step = await steps.next();
      if (step.done) {
        await progress.done();
        await announcer.known(step.value.id || null, step.value.start_task_id, step.value.url);
        return step.value;
      }
      const { conversation_id: id, start_task_id: task, step: word } = step.value;
      if (announcer.isNews(id)) await progress.done();
      await announcer.known(id, task, null);
      await progress.show(`starting: ${word}`);
    }
  } finally {
    await progress.done();
  }
}

/** Aborts with `timeout` when the start has had its time: its own, or what is left of all. */
function startLimit(ctx: Context, options: StartOptions): StartLimit {
  const { startTimeout, deadlineMs, waitMs, isWhole } = options;
  const leftMs = isWhole ? deadlineMs - ctx.clock.now() : Number.POSITIVE_INFINITY;
  const limitMs = Math.max(0, Math.min(startTimeout, leftMs));
  const given = formatDuration(leftMs < startTimeout ? waitMs : startTimeout);
  const text = `the conversation has not started after ${given}`;
  const limit = timeLimit(ctx, limitMs, new AppError('timeout', text, { data: { reason: 'timeout' } }));
  const endsAtMs = ctx.clock.now() + limitMs;
  return { ...limit, given, leftMs: () => Math.max(0, endsAtMs - ctx.clock.now()) };
}

/** Shown with the first step, and taken away before anything else is written. */
function lazyProgress(ctx: Context): { show(text: string): Promise<void>; done(): Promise<void> } {
  let progress: Progress | null = null;
  return {
    async show(text) {
      if (progress === null) progress = await ctx.progress(text);
      else progress.update(text);
    },
    async done() {
      await progress?.done();
      progress = null;
    },
  };
}

async function stay(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: Omit<StartOptions, 'known'>,
): Promise<TrackedRun> {
  const { live } = options;
  const { format } = ctx.globals;
  if (options.follow && format !== 'json' && format !== 'id') {
    return await showRun(ctx, server, conversation, {
      deadlineMs: options.deadlineMs,
      waitMs: options.waitMs,
      atDeadline: options.stopOnTimeout ? 'stop' : 'look',
      ...(options.onConfirm === undefined ? {} : { onConfirm: options.onConfirm }),
    });
  }
  const progress = await ctx.progress(`conversation ${conversation.id}: ${conversation.status}`);
  return await trackRun(ctx, server, conversation.id, {
    evidence: NO_EVIDENCE,
    seen: conversation,
    since: null,
    deadlineMs: options.deadlineMs,
    waitMs: options.waitMs,
    atDeadline: options.stopOnTimeout ? 'stop' : 'look',
    failOnStallMs: null,
    answer: answerer(ctx, server, conversation.id, { ...options, progress }),
    ...(live === undefined ? {} : { onEvent: (event) => Promise.resolve(live.onEvent(event)) }),
    onState: (state) => {
      live?.onState(state);
      progress.update(`conversation ${conversation.id}: ${state.status}`);
    },
  }).finally(() => progress.done());
}

/** The record that was judged, or as it is now; where it cannot be read any more, what the tracker read last. */
async function lastRecord(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { outcome, failure, record }: TrackedRun,
): Promise<Conversation> {
  const seen: Conversation = {
    ...conversation,
    status: outcome.status,
    // The word of the server for a status that is no longer the one it gave is not known.
    execution_status: outcome.status === conversation.status ? conversation.execution_status : null,
    reason: outcome.reason,
    waiting_for: outcome.waiting_for,
  };
  // The time after a deadline or a signal is used up.
  if (failure !== null || outcome.status === 'deleted') return seen;
  const { status, reason, waiting_for } = seen;
  const judged = { start_task_id: conversation.start_task_id, status, reason, waiting_for };
  if (record !== undefined && record.status !== 'idle') return { ...record, ...judged };
  const over = new AppError('timeout', 'the server did not return the conversation in time');
  try {
    const read = await withinLimit(ctx, server, { mostMs: LAST_LOOK_MS, over }, (bounded) =>
      bounded.conversations.getComplete(conversation.id),
    );
    return { ...read, ...judged };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return seen;
  }
}
