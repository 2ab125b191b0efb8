import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { blankConversation, CONVERSATION_STATUSES, knownId, type Conversation } from '../../domain/conversation.ts';
import { judge, judgeFor, type Outcome, mayRecover } from '../../runs/outcome.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Progress } from '../../terminal/progress.ts';
import { readIds } from '../bulk.ts';
import { withinDeadline, type TimedContext } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { checkWord, finderOf, findOne, type Finder } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { duration, oneOf, someOf } from '../options.ts';
import { NOT_READ } from '../../runs/endings.ts';
import { readKnownRun, type KnownRun } from '../../runs/run-reads.ts';
import { deadlinePassed, deadlinePassedUnseen } from '../../runs/endings.ts';
import { idOf, outcomeView } from './view.ts';
import { addWaitTimeout, limitsOf, type WaitOptions } from '../wait-limit.ts';
import { failedStart, unbegun } from './waiting.ts';
import { waitForStart } from './wait-for-start.ts';
import { endAsWorst, isUnread, unreadShape, waitedView, warnOfUnread, type Unread, type Waited } from './wait-items.ts';
import { trackRun } from '../../runs/tracker.ts';
import type { TrackedRun } from '../../runs/tracker-options.ts';

export interface WaitCommandOptions extends WaitOptions {
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
      'With several ids the worst code is used, in this order: a signal, 124, the code of an id that cannot be read, 1, 5, 6, 8; 0 when all have finished. An id that cannot be read does not end the wait for the others; with --any it is a warning.',
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
  command.action((ids: string[], options: WaitCommandOptions) => waitForConversations(ids, options, ctx));
}

export async function waitForConversations(
  given: readonly string[],
  options: WaitCommandOptions,
  ctx: Context,
): Promise<void> {
  const isOne = given.length === 1 && given[0] !== '-';
  ctx.out.check(outcomeView, isOne ? 'item' : 'list');
  const limits = limitsOf(ctx, options);
  const words = await readIds(ctx, given);
  for (const word of words) checkWord(conversations, word);
  if (words.length === 0) {
    await ctx.out.list(outcomeView, [], { has_more: false });
    return;
  }
  const waited = await withinDeadline(ctx, limits, (timed) => waitForRuns(ctx, timed, words, options));
  const [one] = waited;
  if (!isOne || one === undefined) await ctx.out.list(waitedView, waited, { has_more: false });
  else if (!isUnread(one)) await ctx.out.item(outcomeView, one.outcome);
  await endAsWorst(ctx, waited);
}

interface Wait {
  /** Of the command: the tracker keeps the deadline itself. */
  ctx: Context;
  /** For what is read before the tracker starts. */
  timed: TimedContext;
  options: WaitCommandOptions;
  /** The status shown last, by conversation id. */
  seen: Map<string, string>;
}

async function waitForRuns(
  ctx: Context,
  timed: TimedContext,
  words: readonly string[],
  options: WaitCommandOptions,
): Promise<Waited[]> {
  const wait: Wait = { ctx, timed, options, seen: new Map() };
  const opened = await timed.server().catch((error: unknown) => {
    if (timed.deadline.isOver(error)) return null;
    throw error;
  });
  const finder = opened === null ? null : finderOf(timed, opened, conversations);
  const first = new AbortController();
  const runs = words.map((word) => waitForOne(wait, word, finder, first.signal));
  return await (options.any ? theFirst(ctx, runs) : Promise.all(runs)).finally(async () => {
    first.abort(needless());
    await Promise.allSettled(runs);
  });
}

async function waitForOne(
  wait: Wait,
  word: string,
  finder: Finder<Conversation> | null,
  first: AbortSignal,
): Promise<Waited> {
  const { timed, options } = wait;
  const { deadline } = timed;
  const judging = options.for ? forStates(options.for) : judge;
  let seen = blankConversation(word, NOT_READ);
  try {
    if (finder === null) throw deadlinePassedUnseen(seen, deadline.waitMs);
    const server = await timed.server();
    seen = await finder.find(word);
    seen = await waitForStart(timed, server, seen);
    if (seen.id === '') return failedStart(seen);
    const read = await readRun(server, seen.id);
    seen = read.record;
    const ended = mayRecover(seen) ? null : judging(seen, read.evidence);
    if (ended !== null) return { outcome: ended, failure: null };
    return await watchOne(wait, { ...read, first, judging });
  } catch (error) {
    if (!deadline.isOver(error)) return notWatched(seen, error);
    return await atDeadline(wait, word, seen, judging).catch((late: unknown) => notWatched(seen, late));
  }
}

/** One that cannot be read does not end the wait for the others. */
function notWatched(last: Conversation, error: unknown): Waited {
  if (!isAppError(error)) throw error;
  const seen = named(last);
  return error.kind === 'timeout' ? unbegun(seen, error) : { id: seen.id, failure: error };
}

async function readRun(server: Server, id: string): Promise<KnownRun & { record: Conversation }> {
  return { record: await server.conversations.getComplete(id), ...(await readKnownRun(server, id)) };
}

/** The deadline came before the tracker started: the run is read once more. */
async function atDeadline(
  { timed }: Wait,
  word: string,
  last: Conversation,
  judging: typeof judge,
): Promise<TrackedRun> {
  const { deadline } = timed;
  const look = await deadline.lastLook(await timed.server(), async (server, ctx) => {
    const seen = last.status === NOT_READ ? await findOne(ctx, server, conversations, word) : last;
    return { seen, run: seen.id === '' ? null : await readRun(server, seen.id) };
  });
  if (look === null) return unbegun(named(last), deadlinePassedUnseen(named(last), deadline.waitMs));
  const ended = look.run === null ? null : judging(look.run.record, look.run.evidence);
  if (ended !== null) return { outcome: ended, failure: null };
  const seen = named(look.run?.record ?? look.seen);
  return unbegun(seen, deadlinePassed(seen, deadline.waitMs));
}

/** By the id of its start task while it has no other. */
function named(conversation: Conversation): Conversation {
  return { ...conversation, id: knownId(conversation) ?? idOf(conversation) };
}

interface Seen extends KnownRun {
  record: Conversation;
  first: AbortSignal;
  judging: typeof judge;
}

async function watchOne(wait: Wait, { record, evidence, last, first, judging }: Seen): Promise<TrackedRun> {
  const { ctx, timed, options } = wait;
  const { deadlineMs, waitMs } = timed.deadline;
  if (record.status === 'idle' && evidence.since_message === 'unknown') await noticeIdle(ctx, record.id);
  const progress = await ctx.progress(progressText(record));
  try {
    return await trackRun(ctx, await ctx.server(), record.id, {
      evidence,
      seen: record,
      since: last?.timestamp ?? null,
      deadlineMs,
      waitMs,
      failOnStallMs: options.failOnStall ?? null,
      judge: judging,
      signal: first,
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

function forStates(wanted: readonly string[]): typeof judge {
  return (conversation, evidence): Outcome | null => judgeFor(conversation, evidence, wanted);
}

/** The first run that ended, with a warning for each that could not be read. Without one that ended: all of them. */
async function theFirst(ctx: Context, runs: readonly Promise<Waited>[]): Promise<Waited[]> {
  const unread: Unread[] = [];
  const ended = runs.map(async (run) => {
    const waited = await run;
    if (!isUnread(waited)) return waited;
    unread.push(waited);
    throw waited.failure;
  });
  const first = await Promise.any(ended).catch(() => null);
  if (first === null) return await Promise.all(runs);
  await warnOfUnread(ctx, unread);
  return [first];
}

function needless(): AppError {
  return new AppError('interrupted', 'another run ended first', { exitCode: 0 });
}
