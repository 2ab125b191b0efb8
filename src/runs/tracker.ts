import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { eachItem } from '../domain/pages.ts';
import { AppError, isAppError, isFailure, isNotFound, READER_GONE } from '../base/errors.ts';
import type { IdOrRecord, Server } from '../client/shared/server.ts';
import { beforeTime, GRACE_MS, isPassing, timeLimit, type RunContext } from './deadline.ts';
import {
  afterEvent,
  deletedOutcome,
  type EventSummary,
  interruption,
  isOfLatestRun,
  NO_EVENTS,
  type TrackedRun,
} from './outcome.ts';
import { ReadRequest } from './follow-source.ts';
import { readThroughOutage } from './poll.ts';
import {
  advance,
  dueMs,
  initialState,
  newestOf,
  unfinished,
  type Input,
  type Rules,
  type TrackerState,
} from './state-machine.ts';

export interface Answerer {
  /** `left`: the confirmation stays pending. */
  onWaiting(): Promise<'answered' | 'left'>;
  /** Called before an event is shown. */
  onHappened(): Promise<void>;
  close(): void;
}

export interface TrackOptions extends Omit<Rules, 'answers'> {
  /** Without it the events since the latest message are read first. */
  summary?: EventSummary;
  /** Where to start, inclusive; null: at the beginning, or after the events that were read. */
  since: string | null;
  afterEventId?: string;
  answer?: Answerer | undefined;
  signal?: AbortSignal;
  onEvent?: (event: ConversationEvent) => Promise<void>;
  /** `perhaps-older`: the state may be that of the run before. */
  onState?: (conversation: Conversation, run: 'latest' | 'perhaps-older' | 'none') => void;
  /** `text` returns the newest text of an answer that is being written. */
  onPartial?: ((text: () => string) => void) | undefined;
  onNotice?: (text: string) => Promise<void>;
}

/** Throws `auth`, `network`, `server`, and `not-found` without the event to start after. */
export async function trackRun(
  ctx: RunContext,
  server: Server,
  id: string,
  options: TrackOptions,
): Promise<TrackedRun> {
  const tracker = new Tracker(ctx, server, id, options);
  try {
    return await tracker.run();
  } catch (error) {
    return await tracker.onError(error);
  } finally {
    await tracker.end();
  }
}

type Item = Input | { type: 'left' };

class Tracker {
  private readonly ctx: RunContext;
  private readonly server: Server;
  private readonly id: string;
  private readonly options: TrackOptions;
  private state: TrackerState;
  private isSummaryKnown: boolean;
  private items: AsyncIterator<Item> | null = null;
  private pending: Promise<Item> | null = null;
  private readonly request = new ReadRequest();
  private question: Promise<Item> | null = null;
  private unanswered: TrackedRun | null = null;
  private readonly stop = new AbortController();
  private readonly limit: ReturnType<typeof timeLimit>;
  private readonly deadlineError = new AppError('timeout', 'the deadline has passed');

  constructor(ctx: RunContext, server: Server, id: string, options: TrackOptions) {
    this.ctx = ctx;
    this.server = server;
    this.id = id;
    this.options = options;
    this.isSummaryKnown = options.summary !== undefined;
    const rules: Rules = { ...options, answers: options.answer !== undefined };
    this.state = initialState(rules, options.summary ?? null, ctx.clock.now());
    this.limit = timeLimit(ctx, options.deadlineMs - ctx.clock.now(), this.deadlineError);
  }

  async run(): Promise<TrackedRun> {
    // A deadline that has passed comes before what the follower reads.
    let item: Item = { type: 'time' };
    while (item.type !== 'left') {
      const { state, next, notice } = advance(this.state, item, this.ctx.clock.now());
      this.state = state;
      if (notice !== null) await this.notice(notice);
      await this.show(item);
      if (next.do === 'end') return next.run;
      if (next.do === 'read') this.request.make();
      if (next.do === 'answer') this.awaitAnswer(next.run);
      if (next.do === 'last-read') await this.endFollower();
      item = next.do === 'ask-sandbox' ? await this.askSandbox(next.mostMs) : await this.next();
    }
    return this.unanswered as TrackedRun;
  }

  /** No request in flight may keep the command after the outcome. */
  async end(): Promise<void> {
    this.options.answer?.close();
    this.limit.clear();
    this.stop.abort();
    await this.endFollower();
  }

  private async endFollower(): Promise<void> {
    await this.pending?.catch(() => undefined);
    await this.items?.return?.().catch(() => undefined);
    this.items = this.pending = null;
  }

  private isLate(): boolean {
    return this.state.phase === 'late';
  }

  private async bound(): Promise<{ server: Server; signal: AbortSignal }> {
    const signals = [this.stop.signal, this.ctx.signal];
    if (this.options.signal) signals.push(this.options.signal);
    if (!this.isLate()) signals.push(this.limit.signal);
    const signal = AbortSignal.any(signals);
    return { signal, server: await this.server.withSignal(signal) };
  }

  private async *follow(): AsyncGenerator<Item, void, void> {
    const { server, signal } = await this.bound();
    if (!this.isSummaryKnown) await this.readSummary(server, signal);
    const { lastEvent } = this.state;
    const { since, afterEventId } = this.options;
    const isLate = this.isLate();
    const start =
      lastEvent === null
        ? { since, afterEventId }
        : { since: lastEvent.timestamp, afterEventId: isLate ? lastEvent.id : undefined };
    const items = server.conversations.follow(this.id, {
      signal,
      request: this.request,
      extent: isLate ? 'once' : undefined,
      afterEventId: start.afterEventId,
      since: start.since ?? undefined,
      ...(this.options.onPartial && { deltas: true }),
    });
    for await (const item of items) {
      if (item.type === 'notice') await this.notice(item.text);
      else if (item.type === 'partial') this.options.onPartial?.(item.text);
      else yield item;
    }
    yield { type: 'over' };
  }

  private async readSummary(server: Server, signal: AbortSignal): Promise<void> {
    const { clock } = this.ctx;
    const read = () => readKnownRun(server, this.options.seen);
    const { summary, last } = await readThroughOutage({ clock, signal }, read);
    this.isSummaryKnown = true;
    const { since, afterEventId } = this.options;
    const isFromLast = since === null && afterEventId === undefined;
    this.state = { ...this.state, summary, lastEvent: isFromLast ? last : null };
  }

  private async next(): Promise<Item> {
    const { ctx, state } = this;
    this.items ??= this.follow();
    this.pending ??= this.items.next().then(({ value }) => value as Item);
    const awaited = this.question === null ? [this.pending] : [this.pending, this.question];
    try {
      const item = await beforeTime(ctx, dueMs(state) - ctx.clock.now(), awaited);
      if (item === 'time') return { type: 'time' };
      if (item.type !== 'answered' && item.type !== 'left') this.pending = null;
      return item;
    } catch (error) {
      if (error === this.deadlineError) return { type: 'time' };
      if (this.isLate() && isPassing(error)) return { type: 'over' };
      throw error;
    }
  }

  private async show(input: Input): Promise<void> {
    const { ctx, options, state } = this;
    if (input.type === 'event') {
      const leftMs = Math.min(options.deadlineMs - ctx.clock.now(), GRACE_MS);
      if (this.question !== null && options.answer)
        await beforeTime(ctx, leftMs, [options.answer.onHappened()]);
      await options.onEvent?.(input.event);
    }
    if (input.type !== 'state') return;
    const { conversation } = input;
    const hasNoRun = conversation.status === 'idle' && state.summary.since_message === 'unknown';
    const run = isOfLatestRun(conversation, state.summary) ? 'latest' : 'perhaps-older';
    options.onState?.(conversation, hasNoRun ? 'none' : run);
  }

  private async askSandbox(mostMs: number): Promise<Input> {
    const { server } = await this.bound();
    // A sandbox that cannot be read does not contradict the record.
    const asked = server.conversations.runsInSandbox(this.id).catch((error: unknown) => {
      if (isFailure(error)) return false;
      throw error;
    });
    const answer = await beforeTime(this.ctx, mostMs, [asked]);
    return { type: 'sandbox', isInProgress: answer === true };
  }

  private async notice(text: string): Promise<void> {
    await (this.options.onNotice ?? this.ctx.notice)(text);
  }

  private awaitAnswer(unanswered: TrackedRun): void {
    this.unanswered = unanswered;
    const { answer } = this.options;
    if (this.question !== null || answer === undefined) return;
    this.question = answer.onWaiting().then((how): Item => {
      this.question = null;
      return { type: how };
    });
    // `next` handles the rejection, unless tracking ends before.
    this.question.catch(() => undefined);
  }

  async onError(error: unknown): Promise<TrackedRun> {
    if (!isAppError(error)) throw error;
    const { ctx, state } = this;
    if (error.kind === 'not-found' && (await this.isGone()))
      return { outcome: deletedOutcome(this.id, state.summary), failure: null };
    // No outcome where the reader of stdout is gone, or another run has ended first. Ctrl-C at a
    // prompt does not abort ctx.signal.
    const isLeft = ctx.signal.aborted || this.question !== null;
    if (error.kind !== 'interrupted' || error.exitCode === READER_GONE || !isLeft) throw error;
    return unfinished(state, interruption(error, newestOf(state)));
  }

  private async isGone(): Promise<boolean> {
    const signal = AbortSignal.any([this.stop.signal, this.ctx.signal]);
    const server = await this.server.withSignal(signal);
    const isGone = server.conversations.get(this.id).then(() => false, isNotFound);
    const leftMs = Math.max(this.options.deadlineMs - this.ctx.clock.now(), 0) + GRACE_MS;
    return (await beforeTime(this.ctx, leftMs, [isGone])) === true;
  }
}

/** A run of more events than this is judged without its message. */
const EVENTS_MAX = 300;

export async function readKnownRun(
  server: Server,
  of: IdOrRecord,
): Promise<{ summary: EventSummary; last: ConversationEvent | null }> {
  const newestFirst: ConversationEvent[] = [];
  for await (const event of eachItem(
    server.conversations.eventPages(of, { order: 'newest-first', limit: EVENTS_MAX }),
  )) {
    newestFirst.push(event);
    if (event.signal === 'message') break;
  }
  // The message of a longer run exists, further back.
  const before: EventSummary =
    newestFirst.length < EVENTS_MAX ? NO_EVENTS : { ...NO_EVENTS, since_message: 'some' };
  return {
    summary: newestFirst.toReversed().reduce(afterEvent, before),
    last: newestFirst[0] ?? null,
  };
}
