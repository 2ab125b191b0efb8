import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { type ConversationEvent, isUpTo } from '../../domain/event.ts';
import { isBookkeeping } from '../../domain/event-words.ts';
import { NO_EVIDENCE, beforeRun, type Outcome, type TrackedRun } from '../../runs/outcome.ts';
import { readKnownRun } from '../../runs/run-reads.ts';
import { trackRun, type TrackOptions } from '../../runs/tracker.ts';
import { EXIT_CODES } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Limits } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { checkWord, findOne } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { duration } from '../option-parsers.ts';
import { addOnConfirm, answerer, type AnswererOptions, type OnConfirmOptions } from './answering.ts';
import { addFilterOptions, eventTest, readSince, type FilterOptions } from './event-filter.ts';
import { eventView } from './event-view.ts';
import { LiveRun } from './live-run.ts';
import { outcomeView } from './view.ts';
import { readTail } from './tail.ts';
import { addWaitTimeout, limitsOf, type WaitOptions } from '../wait-limit.ts';
import { beforeWatch, endAs, failedStart } from './waiting.ts';
import { waitForStart } from './wait-for-start.ts';

export interface FollowOptions extends FilterOptions, WaitOptions, OnConfirmOptions {
  failOnStall?: number;
}

export function addFollowOptions(command: Command): Command {
  addFilterOptions(command).option(
    '--fail-on-stall <duration>',
    'exit 124 when a running run has no event for this long',
    duration,
  );
  return addOnConfirm(addWaitTimeout(command));
}

export function declareFollow(parent: Command, ctx: Context): void {
  const command = parent.command('follow').description('print the events of a run until it ends');
  addFollowOptions(command.argument('<id>', 'the conversation'));
  explain(command, {
    notes: [
      'Prints each event once, from the beginning unless --since or --tail is given, and reconnects when the connection is lost.',
      'On a terminal a status line below the events has the status, the time since the message, the cost, and the action in progress.',
      'Exits with the code of the outcome. Ctrl-C stops following; the run continues.',
    ],
    json: ({ objectForm }) => [
      ['one a line', objectForm(eventView(null))],
      ['last', objectForm(outcomeView)],
    ],
    exits: ['failed', 'not-found', 'conflict', 'needs-input', 'timeout', 'interrupted'],
    examples: [
      { command: 'acs conv follow @last', does: 'follow the last conversation that was started' },
      {
        command: 'acs conv follow @last --kind ActionEvent --json',
        does: 'print the actions of the agent, one JSON object a line',
      },
    ],
  });
  command.action((id: string, options: FollowOptions) => followConversation(id, options, ctx));
}

export async function followConversation(word: string, options: FollowOptions, ctx: Context): Promise<void> {
  ctx.out.check(eventView(null), 'stream');
  checkWord(conversations, word);
  readSince(ctx, options);
  const limits = limitsOf(ctx, options);
  const conversation = await findForFollow(ctx, limits, word);
  const server = await ctx.server();
  const tracked =
    conversation.id === ''
      ? failedStart(conversation)
      : await showRun(ctx, server, conversation, { ...options, ...limits });
  await showOutcome(ctx, tracked.outcome);
  await endAs(ctx, tracked);
}

/** The conversation once it has started; without an id when its start has failed. */
export async function findForFollow(ctx: Context, limits: Limits, word: string): Promise<Conversation> {
  return await beforeWatch(ctx, limits, word, async (timed, server, see) =>
    waitForStart(timed, server, see(await findOne(timed, server, conversations, word))),
  );
}

/** Prints events until the run ends; the outcome is the caller's to print. */
export async function showRun(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: FollowOptions &
    Limits &
    Pick<TrackOptions, 'atDeadline' | 'startedAfter' | 'signal'> &
    Pick<AnswererOptions, 'ask'>,
): Promise<TrackedRun> {
  const { id } = conversation;
  const view = eventView(conversation.created_at);
  const wanted = eventTest(options);
  const since = readSince(ctx, options);
  const shown = new Set<string>();
  const isFromBeginning = since === null && options.tail === undefined;
  const { tail: length, startedAfter } = options;
  const { known, tail } = await beforeWatch(ctx, options, id, async (_, bounded) => ({
    // What the run did before the place to start at is not shown, but it is what the run is judged by.
    known: isFromBeginning || startedAfter !== undefined ? null : await readKnownRun(bounded, id),
    tail: length === undefined ? null : await readTail(bounded, id, { ...options, tail: length }),
  }));
  let start = since?.kind === 'time' ? since.time : null;
  let tailEnd: ConversationEvent | null = null;
  if (tail !== null) {
    for (const event of tail) shown.add(event.id);
    await ctx.out.lines(
      view,
      tail.filter((event) => !isHidden(ctx, options, event)),
    );
    tailEnd = known?.last ?? null;
    start = tailEnd?.timestamp ?? null;
  }
  const live = new LiveRun(conversation, ctx.clock.now(), startedAfter === undefined ? 'known' : 'requested');
  const progress = await ctx.progress(() => live.line(ctx.clock.now()), 'nothing');
  return await trackRun(ctx, server, id, {
    evidence: startedAfter === undefined ? (known?.evidence ?? NO_EVIDENCE) : beforeRun(startedAfter?.id ?? null),
    seen: conversation,
    ...(startedAfter === undefined ? {} : { startedAfter }),
    since: start,
    ...(since?.kind === 'event' ? { afterEventId: since.id } : {}),
    deadlineMs: options.deadlineMs,
    waitMs: options.waitMs,
    ...(options.atDeadline === undefined ? {} : { atDeadline: options.atDeadline }),
    failOnStallMs: options.failOnStall ?? null,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    answer: answerer(ctx, server, id, { ...options, progress }),
    onState: (state, run) => {
      if (run === 'latest') live.onState(state);
    },
    onEvent: async (event) => {
      live.onEvent(event);
      if (!wanted(event) || shown.has(event.id) || isHidden(ctx, options, event)) return;
      if (isUpTo(event, tailEnd)) return;
      await ctx.out.lines(view, [event]);
    },
  }).finally(() => progress.done());
}

/** Plain lines are for people; the other formats and --kind show everything. */
function isHidden(ctx: Context, { kind }: FilterOptions, event: ConversationEvent): boolean {
  return kind === undefined && ctx.globals.format === undefined && isBookkeeping(event);
}

/** The last line of a stream: an object, or words. Rows and ids have no place for it. */
export async function showOutcome(ctx: Context, outcome: Outcome): Promise<void> {
  const { format } = ctx.globals;
  if (format === 'json' || format === 'ndjson') await ctx.out.record({ ...outcome });
  else if (format === undefined && ctx.globals.fields === undefined && !isReported(outcome))
    await ctx.out.lines(outcomeView, [outcome]);
}

/** Whether the error reports the outcome already: the wait ended before the run did. */
function isReported({ exit_code: code }: Outcome): boolean {
  return code >= EXIT_CODES.timeout;
}
