/**
 * Watching one run to its end: what follow, wait and `conv new --wait` have in common. The server's port tells events
 * and changes of the record; here they are judged, and deadlines and silences are kept. A state that may be older than
 * the latest message is not believed at once: it is read again until the events agree, or until it has stood long
 * enough. So a fast run that ends where it began is not missed, and none is waited for without end.
 */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { afterEvent, afterStanding, deletedOutcome, judge, type RunEvidence } from '../../domain/outcome.ts';
import { type AppError, isAppError } from '../../errors.ts';
import type { FollowItem, Server } from '../../servers/server.ts';
import { LAST_LOOK_MS } from '../deadline.ts';
import { blankConversation, NOT_READ } from './blank.ts';
import { isUpTo } from './evidence.ts';
import { beforeEnd, beforeTime } from './time-limit.ts';
import { deadlinePassed, deadlinePassedUnseen, endOfItems, interruption, openWatch } from './unended.ts';
import { CATCH_UP_MS, DOUBT_MS, EVENTS_MS, placeToStart, SOON_MS } from './watch-options.ts';
import type { Watched, WatchOptions } from './watch-options.ts';
import { isGone, ofLatestRun, readUnlessPassing, standing, tellingOf } from './watch-reads.ts';
import { Silence } from './watch-silence.ts';

export type { Answerer, Watched, WatchOptions } from './watch-options.ts';

/**
 * Watches a conversation that is known to exist. Throws what following throws: `auth`, `network`, `server`, and
 * `not-found` for an event to start after that is not there.
 */
export async function watch(ctx: Context, server: Server, id: string, options: WatchOptions): Promise<Watched> {
  // Everything it asks for ends with the watch: a request in flight may not keep the command after the outcome.
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ctx.signal, ...(options.signal ? [options.signal] : [])]);
  return await new Watch(ctx, await server.withSignal(signal), id, options).run(stop, signal);
}

class Watch {
  private readonly ctx: Context;
  private readonly server: Server;
  private readonly id: string;
  private readonly options: WatchOptions;
  private evidence: RunEvidence;
  private last: Conversation | null = null;
  /** The newest status that following has told: every event before it has been told too. */
  private toldStatus: Conversation['status'] | null = null;
  private readonly silence: Silence;
  private recheckAtMs = Number.POSITIVE_INFINITY;
  private doubtSinceMs: number | null = null;
  private answering: Promise<'answered' | 'left'> | null = null;
  /** The outcome if nobody answers. */
  private unanswered: Watched | null = null;
  /** The outcome found at the deadline, and until when the events before it may come. */
  private late: { watched: Watched; untilMs: number } | null = null;

  constructor(ctx: Context, server: Server, id: string, options: WatchOptions) {
    this.ctx = ctx;
    this.server = server;
    this.id = id;
    this.options = options;
    this.evidence = options.evidence;
    this.silence = new Silence(options.failOnStallMs, ctx.clock.now());
  }

  async run(stop: AbortController, signal: AbortSignal): Promise<Watched> {
    const items = this.server.conversations.follow(this.id, placeToStart(this.options, signal))[Symbol.asyncIterator]();
    let pending = items.next();
    try {
      for (;;) {
        const item = await this.nextOrTime(pending);
        if (item === 'left' && this.unanswered !== null) return this.unanswered;
        if (item === 'answered' || item === 'left') {
          this.answering = null;
          this.recheckAtMs = this.ctx.clock.now() + SOON_MS;
          continue;
        }
        const ended =
          item === 'time' ? await this.onTime() : item.done ? await this.onEndOfItems() : await this.take(item.value);
        if (ended !== null && !this.isBeingAnswered(ended)) return ended;
        if (item !== 'time') pending = items.next();
      }
    } catch (error) {
      return await this.onError(error);
    } finally {
      this.options.answer?.close();
      stop.abort();
      await pending.catch(() => undefined);
      await items.return?.().catch(() => undefined);
    }
  }

  /** The next item, or `time` when something is due before it comes. */
  private async nextOrTime(
    pending: Promise<IteratorResult<FollowItem>>,
  ): Promise<IteratorResult<FollowItem> | 'time' | 'answered' | 'left'> {
    const endMs = this.late?.untilMs ?? Math.min(this.options.deadlineMs, this.silence.dueMs);
    const dueMs = Math.min(endMs, this.recheckAtMs) - this.ctx.clock.now();
    const answers = this.answering === null ? [] : [this.answering];
    return await beforeTime<IteratorResult<FollowItem> | 'answered' | 'left'>(this.ctx, dueMs, [pending, ...answers]);
  }

  /** A run that waits goes on being watched while it is answered; its deadline ends that too. */
  private isBeingAnswered(ended: Watched): boolean {
    const { answer, deadlineMs } = this.options;
    const now = this.ctx.clock.now();
    const waits = ended.failure === null && ended.outcome.status === 'waiting';
    if (answer === undefined || !waits || now >= deadlineMs) return false;
    this.unanswered = ended;
    this.late = null;
    if (this.answering === null) {
      this.answering = answer.onWaiting();
      // Told to whoever awaits it; a watch that ends otherwise does not.
      this.answering.catch(() => undefined);
    }
    this.recheckAtMs = Number.POSITIVE_INFINITY;
    this.silence.startAnew(now);
    return true;
  }

  private async take(item: FollowItem): Promise<Watched | null> {
    if (item.type === 'notice') {
      await this.notice(item.text);
      return null;
    }
    return item.type === 'event' ? await this.onEvent(item.event) : await this.onState(item.conversation);
  }

  private async notice(text: string | null): Promise<void> {
    if (text !== null) await (this.options.onNotice ?? this.ctx.notice)(text);
  }

  private async onEvent(event: ConversationEvent): Promise<Watched | null> {
    if (!isUpTo(event, this.options.startedAfter ?? null)) this.evidence = afterEvent(this.evidence, event);
    this.silence.heard(event, this.ctx.clock.now());
    await this.closeIfAnswered();
    await this.options.onEvent?.(event);
    if (this.last === null) return null;
    // Idle becomes an end by what the events tell; other ends are read again before they are believed.
    const ended = this.last.status === 'idle' ? this.judged(this.last, this.evidence) : null;
    if (ended !== null) return ended;
    const soonMs = this.ctx.clock.now() + SOON_MS;
    if (this.looksEnded(this.last)) this.recheckAtMs = this.late ? soonMs : Math.min(this.recheckAtMs, soonMs);
    return null;
  }

  /** It asks the server, which may hang just then. */
  private async closeIfAnswered(): Promise<void> {
    const { answer, deadlineMs } = this.options;
    if (this.answering === null || answer === undefined) return;
    const leftMs = Math.min(deadlineMs - this.ctx.clock.now(), LAST_LOOK_MS);
    await beforeTime(this.ctx, leftMs, [answer.onHappened()]);
  }

  private async onState(conversation: Conversation): Promise<Watched | null> {
    const { status, reason } = conversation;
    // A run that stands still is none that has ended: whoever waits is told why nothing happens.
    if (status === 'running' && reason !== null && reason.code !== this.last?.reason?.code)
      await this.notice(reason.text);
    this.last = conversation;
    this.toldStatus = status;
    this.options.onState?.(
      conversation,
      ofLatestRun(conversation, this.evidence) === null ? 'perhaps-older' : 'latest',
    );
    const ended = this.judged(conversation, this.evidence);
    if (ended !== null) return ended;
    this.doubt(conversation);
    return null;
  }

  private judged(conversation: Conversation, evidence: RunEvidence): Watched | null {
    const outcome = (this.options.judge ?? judge)(conversation, evidence);
    return outcome === null ? null : { outcome, failure: null };
  }

  /** Whether the state would be an end if no event spoke against it. */
  private looksEnded(conversation: Conversation): boolean {
    return this.judged(conversation, afterStanding(this.evidence)) !== null;
  }

  private doubt(conversation: Conversation): void {
    if (!this.looksEnded(conversation)) {
      this.doubtSinceMs = null;
      this.recheckAtMs = Number.POSITIVE_INFINITY;
      return;
    }
    this.doubtSinceMs ??= this.ctx.clock.now();
    this.recheckAtMs = this.ctx.clock.now() + 2 * SOON_MS;
  }

  /** Null while it cannot be read, and where the deadline comes first: the verdict on that has a look of its own. */
  private async fresh(): Promise<Conversation | null> {
    const dueInMs = (this.late?.untilMs ?? this.options.deadlineMs) - this.ctx.clock.now();
    const leftMs = dueInMs > 0 ? dueInMs : LAST_LOOK_MS;
    const look = await beforeTime(this.ctx, leftMs, [readUnlessPassing(this.server, this.id)]);
    return look === 'time' ? null : look;
  }

  private async recheck(): Promise<Watched | null> {
    const fresh = await this.fresh();
    if (fresh === null) {
      this.recheckAtMs = this.ctx.clock.now() + 4 * SOON_MS;
      return null;
    }
    const ended = this.judged(fresh, this.evidence);
    // What came before it has been shown when following has told it, or has told its events and then nothing more.
    if (ended !== null && (fresh.status === this.toldStatus || this.late !== null)) return ended;
    if (ended !== null) return this.afterItsEvents(ended, fresh, EVENTS_MS);
    this.last = fresh;
    const stoodMs = this.doubtSinceMs === null ? 0 : this.ctx.clock.now() - this.doubtSinceMs;
    if (stoodMs >= (this.evidence.since_message === 'none' ? DOUBT_MS.none : DOUBT_MS.some)) {
      const believed = this.judged(fresh, standing(this.options, this.evidence, fresh));
      if (believed !== null) return believed;
    }
    this.doubt(fresh);
    return null;
  }

  private async onTime(): Promise<Watched | null> {
    const now = this.ctx.clock.now();
    const { deadlineMs, waitMs } = this.options;
    if (now >= this.recheckAtMs) return await this.recheck();
    if (this.late !== null) return now >= this.late.untilMs ? this.late.watched : null;
    if (now >= deadlineMs) return await this.onDeadline(waitMs);
    if (now < this.silence.dueMs) return null;
    const fresh = await this.fresh();
    if (fresh === null) {
      this.silence.startAnew(now);
      return null;
    }
    const ended = this.judged(fresh, this.evidence);
    if (ended !== null) return ended;
    const failure = this.silence.failure(fresh, now);
    if (failure !== null) return this.unended(fresh, failure);
    await this.notice(this.silence.notice(fresh, now));
    return null;
  }

  /** The machine may have slept: one fresh look before the verdict. */
  private async onDeadline(waitMs: number): Promise<Watched | null> {
    const last = this.lastOrBlank();
    if (this.options.atDeadline === 'stop') return this.unended(last, deadlinePassed(last, waitMs));
    const endMs = this.ctx.clock.now() + LAST_LOOK_MS;
    const fresh = await this.fresh();
    if (fresh === null) return this.unended(last, deadlinePassedUnseen(last, waitMs));
    const ended = this.judged(fresh, this.evidence);
    if (ended !== null) return ended;
    const believed = this.judged(fresh, standing(this.options, this.evidence, fresh));
    const leftMs = Math.max(endMs - this.ctx.clock.now(), 0);
    if (believed !== null) return this.afterItsEvents(believed, fresh, Math.min(CATCH_UP_MS, leftMs));
    this.last = tellingOf(fresh, this.lastSeen());
    return this.unended(null, deadlinePassed(this.lastOrBlank(), waitMs));
  }

  /** Who is shown the events is shown those that wait to be read, too. */
  private afterItsEvents(watched: Watched, fresh: Conversation, mostMs: number): Watched | null {
    if (this.options.onEvent === undefined) return watched;
    this.last = fresh;
    this.recheckAtMs = Number.POSITIVE_INFINITY;
    this.late = { watched, untilMs: this.ctx.clock.now() + mostMs };
    return null;
  }

  /** Following ends by itself when the sandbox is gone for good. */
  private async onEndOfItems(): Promise<Watched> {
    const fresh = await beforeEnd(this.ctx, this.options, this.server.conversations.getSettled(this.id));
    if (fresh === 'time') return this.unended(this.last, deadlinePassedUnseen(this.lastOrBlank(), this.options.waitMs));
    const ended = this.judged(fresh, afterStanding(this.evidence));
    return ended ?? endOfItems(fresh, this.evidence);
  }

  private async onError(error: unknown): Promise<Watched> {
    if (!isAppError(error)) throw error;
    if (
      error.kind === 'not-found' &&
      (await beforeEnd(this.ctx, this.options, isGone(this.server, this.id))) === true
    ) {
      return { outcome: deletedOutcome(this.id, this.evidence), failure: null };
    }
    // A reader that is gone needs no last word, and a watch that another one made needless has none.
    // Ctrl-C at a question is no signal.
    const isLeft = this.ctx.signal.aborted || this.answering !== null;
    if (error.kind !== 'interrupted' || error.exitCode === 141 || !isLeft) throw error;
    return this.unended(this.lastSeen(), interruption(error, this.id, this.lastSeen()));
  }

  /** The newest state of the latest run; null where the newest that was read may be of the run before. */
  private lastSeen(): Conversation | null {
    return ofLatestRun(this.last ?? this.options.seen ?? null, this.evidence);
  }

  private lastOrBlank(): Conversation {
    return this.lastSeen() ?? blankConversation(this.id, NOT_READ);
  }

  private unended(conversation: Conversation | null, failure: AppError): Watched {
    return openWatch(conversation ?? this.lastOrBlank(), this.evidence, failure);
  }
}
