import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { blankConversation, CONVERSATION_STATUSES, knownId, type Conversation } from '../../domain/conversation.ts';
import { isAppError } from '../../errors.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import { deadlinePassedUnseen, NOT_READ } from '../../runs/endings.ts';
import { judge, judgeFor, type Outcome, type TrackedRun } from '../../runs/outcome.ts';
import { readKnownRun, type KnownRun } from '../../runs/run-reads.ts';
import { trackRun } from '../../runs/tracker.ts';
import type { Server } from '../../servers/server.ts';
import type { Progress } from '../../terminal/progress.ts';
import { explain } from '../declare.ts';
import { duration, oneOf, someOf } from '../option-parsers.ts';
import { WORST_CODE_ORDER, waitForRecords, type Waited, type WaitVerb } from '../resource/wait.ts';
import { addWaitTimeout, type WaitOptions } from '../wait-limit.ts';
import { conversations } from './conversations.ts';
import { idOf, outcomeView } from './view.ts';
import { unreadShape, waitedView } from './wait-items.ts';
import { waitForStart } from './wait-for-start.ts';
import { endAs, failedStart, unbegun } from './waiting.ts';

interface WaitCommandOptions extends WaitOptions {
  any?: boolean;
  for?: string[];
  failOnStall?: number;
  onConfirm?: 'ask' | 'exit';
}

export function declareWait(parent: Command, ctx: Context): void {
  const command = parent.command('wait').description('wait until runs end');
  command
    .argument('<id...>', 'the conversations; - reads ids from stdin')
    .option('--any', 'return when the first run has ended')
    .option(
      '--for <status,…>',
      'wait for one of these statuses; return at once when none is possible any more',
      someOf(CONVERSATION_STATUSES),
    )
    .option('--fail-on-stall <duration>', 'exit 124 when a running run has no event for this long', duration)
    .option('--on-confirm <exit>', 'exit 8 when a confirmation is pending (always so)', oneOf('exit'));
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'Exits with the code of the outcome: finished 0, failed or stuck 1, waiting 8, paused 6, deleted 5.',
      `With several ids the worst code is used, in this order: ${WORST_CODE_ORDER}; 0 when all have finished. An id that cannot be read does not end the wait for the others; with --any it is a warning.`,
      'Ctrl-C and a deadline end the wait; the run continues.',
    ],
    json: ({ listForm, objectForm }) => [
      ['one id', objectForm(outcomeView)],
      ['several ids', listForm(outcomeView, unreadShape)],
    ],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'timeout', 'interrupted'],
    examples: [
      {
        command: 'acs conv wait @last --wait-timeout 45m',
        does: 'wait for the last conversation, at most 45 minutes',
      },
      {
        command: 'acs conv list --status running -q | acs conv wait - --json',
        does: 'wait for all running conversations',
      },
    ],
  });
  command.action((ids: string[], options: WaitCommandOptions) =>
    waitForRecords(ctx, waitVerb(ctx, options), ids, options),
  );
}

function waitVerb(ctx: Context, options: WaitCommandOptions): WaitVerb<Conversation, Outcome> {
  const wanted = options.for;
  const wait: Wait = {
    ctx,
    failOnStallMs: options.failOnStall ?? null,
    judge: wanted ? (conversation, evidence) => judgeFor(conversation, evidence, wanted) : judge,
    seen: new Map(),
  };
  return {
    resource: conversations,
    view: outcomeView,
    many: 'list',
    waitFor: (timed, server, found, otherEnded) => waitForRun(wait, timed, server, { found, otherEnded }),
    unfound: (word, waitMs) => {
      const unread = blankConversation(word, NOT_READ);
      return waitedOf(unbegun(unread, deadlinePassedUnseen(unread, waitMs)));
    },
    printAll: (_, waited) => ctx.out.list(waitedView, waited, { has_more: false }),
    exitCodeOf: ({ exit_code }) => exit_code,
    endAs: (_, outcome) => endAs(ctx, { outcome, failure: null }),
  };
}

interface Wait {
  /** Without the deadline, which the tracker keeps itself. */
  ctx: Context;
  failOnStallMs: number | null;
  judge: typeof judge;
  /** The status shown last, by conversation id. */
  seen: Map<string, string>;
}

function waitedOf({ outcome, failure }: TrackedRun): Waited<Outcome> {
  return { id: outcome.conversation_id, result: outcome, failure };
}

async function waitForRun(
  wait: Wait,
  timed: TimedContext,
  server: Server,
  { found, otherEnded }: { found: Conversation; otherEnded: AbortSignal },
): Promise<Waited<Outcome>> {
  let seen = found;
  try {
    seen = await waitForStart(timed, server, seen);
    if (seen.id === '') return waitedOf(failedStart(seen));
    const read = await readRun(server, seen.id);
    seen = read.record;
    const ended = seen.may_recover ? null : wait.judge(seen, read.evidence);
    if (ended !== null) return waitedOf({ outcome: ended, failure: null });
    return waitedOf(await watchRun(wait, timed, server, { ...read, otherEnded }));
  } catch (error) {
    if (!timed.deadline.isOver(error)) return notTracked(seen, error);
    return await watchLate(wait, timed, server, { found: seen, otherEnded }).catch((late: unknown) =>
      notTracked(seen, late),
    );
  }
}

/** A deadline leaves the outcome of a run that continues; another error is that of a conversation that was not read. */
function notTracked(last: Conversation, error: unknown): Waited<Outcome> {
  if (!isAppError(error)) throw error;
  const seen = named(last);
  return error.kind === 'timeout' ? waitedOf(unbegun(seen, error)) : { id: seen.id, result: null, failure: error };
}

async function readRun(server: Server, id: string): Promise<KnownRun & { record: Conversation }> {
  return { record: await server.conversations.getComplete(id), ...(await readKnownRun(server, id)) };
}

/** The deadline passed before the tracker started: a tracker whose deadline is over judges the run. */
async function watchLate(
  wait: Wait,
  timed: TimedContext,
  server: Server,
  { found, otherEnded }: { found: Conversation; otherEnded: AbortSignal },
): Promise<Waited<Outcome>> {
  const { deadline } = timed;
  const tracked = await deadline.lastLook(server, async (awake, _, limit) => {
    const known = await readKnownRun(awake, found.id);
    return await watchRun(wait, timed, awake, {
      record: found,
      ...known,
      otherEnded: AbortSignal.any([otherEnded, limit]),
    });
  });
  return waitedOf(tracked ?? unbegun(found, deadlinePassedUnseen(found, deadline.waitMs)));
}

/** By the id of its start task while it has no other. */
function named(conversation: Conversation): Conversation {
  return { ...conversation, id: knownId(conversation) ?? idOf(conversation) };
}

interface Seen extends KnownRun {
  record: Conversation;
  otherEnded: AbortSignal;
}

async function watchRun(
  wait: Wait,
  timed: TimedContext,
  server: Server,
  { record, evidence, last, otherEnded }: Seen,
): Promise<TrackedRun> {
  const { ctx, failOnStallMs, judge } = wait;
  const { deadlineMs, waitMs } = timed.deadline;
  if (record.status === 'idle' && evidence.since_message === 'unknown') await noticeIdle(ctx, record.id);
  const progress = await ctx.progress(progressText(record));
  try {
    return await trackRun(ctx, server, record.id, {
      evidence,
      seen: record,
      since: last?.timestamp ?? null,
      deadlineMs,
      waitMs,
      failOnStallMs,
      judge,
      signal: otherEnded,
      onState: (state) => showStatus(wait, state, progress),
    });
  } finally {
    await progress.done();
  }
}

/** An idle conversation without a message does not run: the wait lasts until its deadline. */
async function noticeIdle(ctx: Context, id: string): Promise<void> {
  await ctx.notice(`conversation ${id} is idle and has had no message yet; give it one: acs conv send ${id} <message>`);
}

function showStatus({ seen }: Wait, conversation: Conversation, progress: Progress): void {
  if (seen.get(conversation.id) === conversation.status) return;
  seen.set(conversation.id, conversation.status);
  progress.update(progressText(conversation));
}

function progressText({ id, status }: Conversation): string {
  return `conversation ${id}: ${status}`;
}
