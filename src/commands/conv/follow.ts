import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import {
  type Conversation,
  type ConversationStatus,
  NO_STATUS,
} from '../../domain/conversation.ts';
import { EVENT_KINDS, isBookkeeping, shapeOf, statusWordOf } from '../../domain/event-payload.ts';
import { type ConversationEvent, isUpTo } from '../../domain/event.ts';
import { eachItem } from '../../domain/pages.ts';
import { parseSince } from '../../base/text/time.ts';
import type { Limits } from '../../runs/deadline.ts';
import { beforeRun, NO_EVENTS } from '../../runs/outcome.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { endOfStatus } from '../../runs/status.ts';
import { trackRun, type TrackOptions } from '../../runs/tracker.ts';
import { explain } from '../shared/declare.ts';
import { collectList, duration, someOf, wholeNumber } from '../shared/option-parsers.ts';
import { checkWord } from '../shared/resource.ts';
import {
  addWaitTimeout,
  checkLimitHasWait,
  limitsOf,
  type WaitOptions,
  RUN_EXITS,
} from '../shared/wait-limit.ts';
import {
  addOnConfirm,
  answerer,
  checkOnConfirm,
  type AnswererOptions,
  type OnConfirmOptions,
} from './confirm.ts';
import { conversations, conversationView, outcomeView } from './conversations.ts';
import type { View } from '../../output/view.ts';
import { eventView, shortKind } from './event-view.ts';
import { endRun, FOLLOW, printOutcomeItem, showNext, type EndedRun } from './end-of-run.ts';
import { beforeWatch, failedStart, findForFollow } from './find-conversation.ts';
import { LiveRun } from './live-run.ts';

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
    exits: RUN_EXITS,
    examples: {
      'acs conv follow @last': 'follow the last conversation that was started',
      'acs conv follow @last --kind ActionEvent --json': 'print the actions as JSON, one a line',
    },
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
  await endRun(ctx, tracked, printOutcome);
}

/** `startedAfter`: the newest event before the run, null without one; earlier ones do not count. */
type WatchOptions = FollowOptions &
  Limits &
  Pick<TrackOptions, 'atDeadline' | 'startedAfter' | 'signal' | 'summary'> &
  Pick<AnswererOptions, 'ask'>;

/** Until the run ends: shows its status, or with `follow` prints its events. */
export async function watchRun(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: WatchOptions & { follow?: boolean },
): Promise<EndedRun> {
  const { id } = conversation;
  const { startedAfter, follow } = options;
  if (follow)
    return await showRun(ctx, server, conversation, {
      ...options,
      ...(startedAfter && { since: startedAfter.id }),
    });
  const status = startedAfter === undefined ? conversation.status : 'waiting for the run to start';
  const progress = await ctx.terminal.progress(`conversation ${id}: ${status}`);
  return await trackRun(ctx, server, id, {
    ...options,
    ...summaryBefore(startedAfter),
    seen: conversation,
    since: startedAfter?.timestamp ?? null,
    answer: answerer(ctx, server, id, { ...options, progress }),
    onState: (state, run) => {
      if (run !== 'perhaps-older') progress.update(`conversation ${id}: ${state.status}`);
    },
  }).finally(() => progress.done());
}

function summaryBefore(startedAfter: WatchOptions['startedAfter']) {
  return startedAfter === undefined ? {} : { summary: beforeRun(startedAfter?.id ?? null) };
}

export async function showRun(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: WatchOptions,
): Promise<EndedRun> {
  const { id } = conversation;
  const { kind, tail, failOnStall, startedAfter } = options;
  const filter = new EventFilter(options);
  // Plain lines are for people; the other formats, --fields and --kind show everything.
  const { format, fields } = ctx.globals;
  const isLinesOnly = (kind ?? format ?? fields) === undefined;
  const printer = new EventPrinter(ctx, eventView(conversation.created_at), isLinesOnly);
  const since = readSince(ctx, options);
  let sinceTime = since?.kind === 'time' ? since.time : null;
  const printed = new Set<string>();
  let tailEnd: ConversationEvent | null = null;
  if (tail !== undefined) {
    const read = await beforeWatch(ctx, options, id, (_, bounded) =>
      readTail(bounded, conversation, tail, filter),
    );
    await printer.print(read.events);
    for (const event of read.events) printed.add(event.id);
    tailEnd = read.newest;
    sinceTime = tailEnd?.timestamp ?? null;
  }
  // The run is judged also by events that are not printed: the tracker then reads them itself.
  const isFromBeginning = since === null && tail === undefined;
  const live = new LiveRun(
    conversation,
    ctx.clock.now(),
    startedAfter === undefined ? 'known' : 'requested',
  );
  const isStreamed = isLinesOnly && options.source === undefined && ctx.out.isPlain;
  const { progress, onPartial } = await live.show(ctx, isStreamed);
  const tracked = await trackRun(ctx, server, id, {
    ...options,
    ...(isFromBeginning && { summary: NO_EVENTS }),
    ...summaryBefore(startedAfter),
    seen: conversation,
    since: sinceTime,
    ...(since?.kind === 'event' ? { afterEventId: since.id } : {}),
    failOnStallMs: failOnStall ?? null,
    answer: answerer(ctx, server, id, { ...options, progress }),
    onPartial,
    onState: (state, run) => {
      if (run !== 'perhaps-older') live.onState(state);
    },
    onEvent: async (event) => {
      live.onEvent(event);
      if (!filter.matches(event) || printed.has(event.id) || isUpTo(event, tailEnd)) return;
      await printer.print([event]);
    },
  }).finally(() => progress.done());
  await printer.end(tracked.outcome);
  await filter.noticeMissing(ctx);
  return { ...tracked, printed: printer.printed(tracked.outcome) };
}

/** The status of an end waits for the outcome, which may be the same line. */
class EventPrinter {
  readonly #ctx: Context;
  readonly #view: View<ConversationEvent>;
  readonly #isLinesOnly: boolean;
  #end: ConversationEvent[] = [];
  /** The text of the newest one. */
  #error = '';

  constructor(ctx: Context, view: View<ConversationEvent>, isLinesOnly: boolean) {
    this.#ctx = ctx;
    this.#view = view;
    this.#isLinesOnly = isLinesOnly;
  }

  async print(events: readonly ConversationEvent[]): Promise<void> {
    const shown = events.filter((event) => !(this.#isLinesOnly && isBookkeeping(event)));
    const all = [...this.#end, ...shown];
    const isEnd = this.#isLinesOnly && endOfStatus(statusOf(all.at(-1))) !== null;
    this.#end = isEnd ? all.splice(-1) : [];
    await this.#ctx.out.lines(this.#view, all);
    this.#error = shown.findLast((event) => shapeOf(event) === 'error')?.text ?? this.#error;
  }

  async end({ exit_code, status }: EndedRun['outcome']): Promise<void> {
    if (exit_code >= EXIT_CODES.timeout || status !== statusOf(this.#end[0]))
      await this.#ctx.out.lines(this.#view, this.#end);
  }

  printed({ reason }: EndedRun['outcome']): EndedRun['printed'] {
    const hasReason = reason !== null && this.#error.includes(reason.text);
    return hasReason ? 'events-and-reason' : 'events';
  }
}

function statusOf(event: ConversationEvent | undefined): ConversationStatus {
  return (event && (statusWordOf(event) as ConversationStatus | null)) ?? NO_STATUS;
}

/** After the events. */
export async function printOutcome(ctx: Context, { outcome }: EndedRun): Promise<void> {
  const { format, fields } = ctx.globals;
  if (format === 'json' || format === 'ndjson') await ctx.out.record({ ...outcome });
  // A code of 124 or more: the wait ended before the run did, and the error reports it.
  else if ((format ?? fields) === undefined && outcome.exit_code < EXIT_CODES.timeout)
    await ctx.out.lines(outcomeView, [outcome]);
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

/** Prints the outcome of the run, or without --wait and --follow the conversation. */
export async function printRun(
  ctx: Context,
  conversation: Conversation,
  options: RunOptions & WatchOptions & { changed: boolean; line?: string },
): Promise<void> {
  const { follow, wait, changed, line } = options;
  const server = await ctx.servers.active();
  if (!follow && !wait) {
    const { id } = conversation;
    if (!ctx.out.isPlain) {
      const record = await readThroughOutage(ctx, () => server.conversations.get(id));
      return await ctx.out.item(conversationView, record, { changed });
    }
    if (line !== undefined) await ctx.out.text([[{ text: line }]]);
    return changed ? await showNext(ctx, conversation, FOLLOW) : undefined;
  }
  const tracked = await watchRun(ctx, server, conversation, options);
  await endRun(ctx, tracked, follow ? printOutcome : printOutcomeItem);
}

export function addFilterOptions(command: Command): Command {
  return command
    .option(
      '--kind <kind,…>',
      'only events of these kinds, such as ActionEvent, action or action:run',
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
  /** What --kind may call each. */
  private readonly testedKinds = new Map<string, string[]>();

  constructor(options: FilterOptions) {
    this.options = options;
  }

  matches(event: ConversationEvent): boolean {
    const { kind, source } = this.options;
    const names = this.testedKinds.get(event.kind) ?? [
      event.kind.toLowerCase(),
      shortKind(event.kind),
    ];
    this.testedKinds.set(event.kind, names);
    return (
      (kind === undefined || kind.some((name) => names.includes(name.toLowerCase()))) &&
      (source === undefined || source.some((name) => name === event.source?.toLowerCase()))
    );
  }

  /** Names the kinds of --kind that no tested event has: they may be misspelt. */
  async noticeMissing(ctx: Context): Promise<void> {
    const { kind = [] } = this.options;
    const tested = [...this.testedKinds.values()].flat();
    const missing = kind.filter((name) => !tested.includes(name.toLowerCase()));
    if (missing.length === 0 || tested.length === 0) return;
    const kinds = [...this.testedKinds.keys()].join(', ');
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
  for await (const event of eachItem(
    server.conversations.eventPages(conversation, { order: 'newest-first' }),
  )) {
    newest ??= event;
    if (newestFirst.length < tail && filter.matches(event)) newestFirst.push(event);
    if (newestFirst.length >= tail) break;
  }
  return { events: newestFirst.toReversed(), newest };
}
