import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Conversation } from '../../domain/conversation.ts';
import {
  member,
  elapsed,
  EVENT_KINDS,
  isBookkeeping,
  shapeOf,
} from '../../domain/event-payload.ts';
import { type ConversationEvent, eachEvent, isUpTo } from '../../domain/event.ts';
import { parseSince, parseTime } from '../../base/text/time.ts';
import { formatUsd } from '../../base/text/usd.ts';
import type { Limits } from '../../runs/deadline.ts';
import { beforeRun, NO_EVENTS, type Outcome, type TrackedRun } from '../../runs/outcome.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { trackRun, type TrackOptions } from '../../runs/tracker.ts';
import { explain } from '../shared/declare.ts';
import { collectList, duration, someOf, wholeNumber } from '../shared/option-parsers.ts';
import { checkWord, findOne } from '../shared/resource.ts';
import {
  addWaitTimeout,
  checkLimitHasWait,
  limitsOf,
  type WaitOptions,
} from '../shared/wait-limit.ts';
import {
  addOnConfirm,
  answerer,
  checkOnConfirm,
  type AnswererOptions,
  type OnConfirmOptions,
} from './confirm.ts';
import { conversations, conversationView, outcomeView } from './conversations.ts';
import { eventView } from './event-view.ts';
import { beforeWatch, endAs, failedStart, waitForStart } from './wait.ts';

/** `hook` is one of the cloud. */
const SOURCES = ['agent', 'user', 'environment', 'hook'] as const;

export interface FilterOptions {
  kind?: string[];
  source?: (typeof SOURCES)[number][];
  since?: string;
  tail?: number;
}

export interface FollowOptions extends FilterOptions, WaitOptions, OnConfirmOptions {
  failOnStall?: number;
}

export function declare(command: Command, ctx: Context): void {
  addFilterOptions(command.argument('<id>', 'the conversation')).option(
    '--fail-on-stall <duration>',
    'exit 124 when a running run has no event for this long',
    duration,
  );
  addOnConfirm(addWaitTimeout(command));
  explain(command, {
    notes: [
      'Prints each event once, from the beginning unless --since or --tail is given, and ' +
        'reconnects when the connection is lost.',
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
        does: 'print the actions as JSON, one a line',
      },
    ],
  });
  command.action((id: string, options: FollowOptions) => followConversation(id, options, ctx));
}

export async function followConversation(
  given: string,
  options: FollowOptions,
  ctx: Context,
): Promise<void> {
  ctx.out.check(eventView(null), 'stream');
  checkWord(conversations, given);
  readSince(ctx, options);
  const limits = limitsOf(ctx, options);
  const conversation = await findForFollow(ctx, limits, given);
  const tracked =
    conversation.id === ''
      ? failedStart(conversation)
      : await showRun(ctx, await ctx.servers.active(), conversation, { ...options, ...limits });
  await showOutcome(ctx, tracked.outcome);
  await endAs(ctx, tracked);
}

/** The conversation once it has started; without an id when its start has failed. */
export async function findForFollow(
  ctx: Context,
  limits: Limits,
  given: string,
): Promise<Conversation> {
  return await beforeWatch(ctx, limits, given, async (timed, server, see) =>
    waitForStart(timed, server, see(await findOne(timed, server, conversations, given))),
  );
}

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
  const { kind, tail, failOnStall, startedAfter } = options;
  const view = eventView(conversation.created_at);
  const filter = new EventFilter(options);
  // Plain lines are for people; the other formats, --fields and --kind show everything.
  const { format, fields } = ctx.globals;
  const isHidden = (event: ConversationEvent): boolean =>
    (kind ?? format ?? fields) === undefined && isBookkeeping(event);
  const since = readSince(ctx, options);
  let sinceTime = since?.kind === 'time' ? since.time : null;
  const printed = new Set<string>();
  let tailEnd: ConversationEvent | null = null;
  if (tail !== undefined) {
    const read = await beforeWatch(ctx, options, id, (_, bounded) =>
      readTail(bounded, conversation, tail, filter),
    );
    const shown = read.events.filter((event) => !isHidden(event));
    await ctx.out.lines(view, shown);
    for (const event of read.events) printed.add(event.id);
    tailEnd = read.newest;
    sinceTime = tailEnd?.timestamp ?? null;
  }
  // The run is judged also by events that are not printed: the tracker then reads them itself.
  const isFromBeginning = since === null && tail === undefined;
  const summary = startedAfter === undefined ? NO_EVENTS : beforeRun(startedAfter?.id ?? null);
  const live = new LiveRun(
    conversation,
    ctx.clock.now(),
    startedAfter === undefined ? 'known' : 'requested',
  );
  const progress = await ctx.terminal.progress(() => live.line(ctx.clock.now()), 'nothing');
  const tracked = await trackRun(ctx, server, id, {
    ...options,
    ...(isFromBeginning || startedAfter !== undefined ? { summary } : {}),
    seen: conversation,
    since: sinceTime,
    ...(since?.kind === 'event' ? { afterEventId: since.id } : {}),
    failOnStallMs: failOnStall ?? null,
    answer: answerer(ctx, server, id, { ...options, progress }),
    onState: (state, run) => {
      if (run !== 'perhaps-older') live.onState(state);
    },
    onEvent: async (event) => {
      live.onEvent(event);
      if (
        !filter.matches(event) ||
        printed.has(event.id) ||
        isHidden(event) ||
        isUpTo(event, tailEnd)
      )
        return;
      await ctx.out.lines(view, [event]);
    },
  }).finally(() => progress.done());
  await filter.noticeMissing(ctx);
  return tracked;
}

export async function showOutcome(ctx: Context, outcome: Outcome): Promise<void> {
  const { format, fields } = ctx.globals;
  if (format === 'json' || format === 'ndjson') return await ctx.out.record({ ...outcome });
  // A code of 124 or more: the wait ended before the run did, and the error reports it.
  if (format === undefined && fields === undefined && outcome.exit_code < EXIT_CODES.timeout)
    await ctx.out.lines(outcomeView, [outcome]);
}

export class LiveRun {
  private status: string;
  private startMs: number;
  private cost: number | null;
  private action: string | null = null;

  /** @param run `requested`: the status is still that of the run before */
  constructor({ status, cost_usd }: Conversation, nowMs: number, run: 'known' | 'requested') {
    this.status = run === 'requested' ? 'requested' : status;
    this.startMs = nowMs;
    this.cost = cost_usd;
  }

  onState({ status, cost_usd }: Conversation): void {
    this.status = status;
    this.cost = cost_usd ?? this.cost;
  }

  onEvent(event: ConversationEvent): void {
    const { payload, signal, timestamp, text } = event;
    // What the conversation has cost until this event, where the event has it.
    const uses = member(payload, 'value', 'usage_to_metrics');
    const hasUses = typeof uses === 'object' && uses !== null;
    const metrics = hasUses ? Object.values(uses) : [payload['llm_metrics']];
    const costs = metrics.map(
      (one) => member(one, 'local_cost_unknown') !== true && member(one, 'accumulated_cost'),
    );
    if (costs.every((cost) => typeof cost === 'number'))
      this.cost = costs.reduce((sum, cost) => sum + cost, 0);
    else if (hasUses) this.cost = null;
    if (signal === 'message') this.startMs = parseTime(timestamp) ?? this.startMs;
    const shape = shapeOf(event);
    if (shape === 'command' || shape === 'action') this.action = text;
    else if (shape !== 'other') this.action = null;
  }

  line(nowMs: number): string {
    const cost = this.cost === null ? null : formatUsd(this.cost);
    const parts = [this.status, elapsed(nowMs - this.startMs), cost, this.action];
    return parts.filter((part) => part !== null).join(' · ');
  }
}

/** The options of verbs that start or continue a run: `send` and `resume`. */
export interface RunOptions extends WaitOptions, OnConfirmOptions {
  wait?: boolean;
  follow?: boolean;
}

/** Throws `usage` for a format or a flag that does not fit to what the command waits for. */
export function checkRunOptions(ctx: Context, options: RunOptions): void {
  const { wait = false, follow = false } = options;
  if (follow) ctx.out.check(eventView(null), 'stream');
  else ctx.out.check<never>(wait ? outcomeView : conversationView, 'item');
  checkOnConfirm(options, wait || follow);
  checkLimitHasWait(options, wait || follow, 'needs --wait or --follow');
}

/** `startedAfter`: the newest event before the run, null without one; earlier ones do not count. */
export async function conclude(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: RunOptions & Limits & { changed: boolean; startedAfter?: ConversationEvent | null },
): Promise<void> {
  const { id } = conversation;
  const { startedAfter, changed } = options;
  if (!options.follow && !options.wait) {
    const record = await readThroughOutage(ctx, () => server.conversations.get(id));
    return await ctx.out.item(conversationView, record, { changed });
  }
  let tracked: TrackedRun;
  if (options.follow) {
    const since = startedAfter ? { since: startedAfter.id } : {};
    tracked = await showRun(ctx, server, conversation, { ...options, ...since });
    await showOutcome(ctx, tracked.outcome);
  } else {
    const status =
      startedAfter === undefined ? conversation.status : 'waiting for the run to start';
    const progress = await ctx.terminal.progress(`conversation ${id}: ${status}`);
    tracked = await trackRun(ctx, server, id, {
      ...options,
      ...(startedAfter === undefined ? {} : { summary: beforeRun(startedAfter?.id ?? null) }),
      seen: conversation,
      since: startedAfter?.timestamp ?? null,
      answer: answerer(ctx, server, id, { ...options, progress }),
      onState: (state, run) => {
        if (run !== 'perhaps-older') progress.update(`conversation ${id}: ${state.status}`);
      },
    }).finally(() => progress.done());
    await ctx.out.item(outcomeView, tracked.outcome);
  }
  await endAs(ctx, tracked);
}

export function addFilterOptions(command: Command): Command {
  return command
    .option(
      '--kind <kind,…>',
      'only events of these kinds, such as ActionEvent or action:run',
      Object.assign(collectList.bind(null), { words: EVENT_KINDS }),
    )
    .option(
      '--source <source,…>',
      'only events from agent, user, environment or hook',
      someOf(SOURCES),
    )
    .option('--since <id|time|duration>', 'only events after this event or time')
    .addOption(
      command
        .createOption('--tail <n>', 'begin with the newest n events; 0 for none')
        .argParser(wholeNumber)
        .conflicts('since'),
    );
}

/** Throws `usage`. An id is a number (V0) or a uuid (V1). */
export function readSince(
  ctx: Context,
  { since }: FilterOptions,
): { kind: 'time'; time: string } | { kind: 'event'; id: string } | null {
  if (since === undefined) return null;
  if (/^\d+$/.test(since) || /^[0-9a-f-]{32,36}$/i.test(since)) return { kind: 'event', id: since };
  const time = parseSince(since, ctx.clock.now());
  if (time === null)
    throw new AppError('usage', `--since: "${since}" is not a time, duration or event id`, {
      hint: 'write 10m, 2h, 2026-01-31T12:00:00Z or the id of an event',
    });
  return { kind: 'time', time };
}

export class EventFilter {
  private readonly options: FilterOptions;
  private readonly testedKinds = new Map<string, string>();

  constructor(options: FilterOptions) {
    this.options = options;
  }

  matches(event: ConversationEvent): boolean {
    const { kind, source } = this.options;
    const eventKind = event.kind.toLowerCase();
    this.testedKinds.set(eventKind, event.kind);
    return (
      (kind === undefined || kind.some((name) => name.toLowerCase() === eventKind)) &&
      (source === undefined || source.some((name) => name === event.source?.toLowerCase()))
    );
  }

  /** Names the kinds of --kind that no tested event has: they may be misspelt. */
  async noticeMissing(ctx: Context): Promise<void> {
    const { kind = [] } = this.options;
    const missing = kind.filter((name) => !this.testedKinds.has(name.toLowerCase()));
    if (missing.length === 0 || this.testedKinds.size === 0) return;
    const kinds = [...this.testedKinds.values()].join(', ');
    await ctx.notice(`no event has the kind ${missing.join(', ')}; there are ${kinds}`);
  }
}

/** Oldest first; `newest`: of all events, null without one. */
export async function readTail(
  server: Server,
  conversation: Conversation,
  tail: number,
  filter: EventFilter,
): Promise<{ events: ConversationEvent[]; newest: ConversationEvent | null }> {
  const newestFirst: ConversationEvent[] = [];
  let newest: ConversationEvent | null = null;
  for await (const event of eachEvent(
    server.conversations.eventPages(conversation, { order: 'newest-first' }),
  )) {
    newest ??= event;
    if (newestFirst.length < tail && filter.matches(event)) newestFirst.push(event);
    if (newestFirst.length >= tail) break;
  }
  return { events: newestFirst.toReversed(), newest };
}
