/**
 * Tracks one run to its end, for follow, wait and `conv new --wait`: events and records are judged as they come, and
 * deadlines and silences are kept. A status that may be older than the latest message is read again until the events
 * agree, or until it has been stable for long enough: a short run is not missed, and no wait is without an end.
 */
import type { Context } from '../context.ts';
import { blankConversation, type Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { afterEvent, afterStanding, type RunEvidence } from './evidence.ts';
import { deletedOutcome, judge, lasting } from './outcome.ts';
import { type AppError, isAppError } from '../errors.ts';
import type { FollowItem } from './follow-source.ts';
import type { Server } from '../servers/server.ts';
import { beforeEnd, beforeTime, LAST_LOOK_MS } from './deadline.ts';
import { deadlinePassed, deadlinePassedUnseen, endOfItems, interruption, NOT_READ, openRun } from './endings.ts';
import { type Answered, OpenQuestion } from './question.ts';
import { Following, trackerServers, type TrackerServers } from './tracker-servers.ts';
import { TRACK_MS, type TrackedRun, type TrackOptions } from './tracker-options.ts';
import {
  isGone,
  isUpTo,
  withKnownStatus,
  ofLatestRun,
  readUnlessPassing,
  runsInSandbox,
  standing,
} from './run-reads.ts';
import { Silence } from './silence.ts';

/**
 * Tracks the latest run of a conversation that exists. Throws what the follower throws: `auth`, `network`, `server`,
 * and `not-found` where the event to start after does not exist.
 */
export async function trackRun(ctx: Context, server: Server, id: string, options: TrackOptions): Promise<TrackedRun> {
  return await new Tracker(ctx, await trackerServers(ctx, server, options), id, options).run();
}

class Tracker {
  private readonly ctx: Context;
  private readonly servers: TrackerServers;
  private readonly id: string;
  private readonly options: TrackOptions;
  private following: Following;
  private evidence: RunEvidence;
  private lastEvent: ConversationEvent | null = null;
  private last: Conversation | null = null;
  /** The newest status from the follower, which has delivered every event before it. */
  private deliveredStatus: Conversation['status'] | null = null;
  private readonly silence: Silence;
  private recheckAtMs = Number.POSITIVE_INFINITY;
  private doubtSinceMs: number | null = null;
  private readonly question: OpenQuestion | null;
  /** The outcome of a run that has ended, and until when its last events are waited for. */
  private late: { tracked: TrackedRun; untilMs: number } | null = null;

  constructor(ctx: Context, servers: TrackerServers, id: string, options: TrackOptions) {
    this.ctx = ctx;
    this.servers = servers;
    this.id = id;
    this.options = options;
    this.following = new Following(servers.current, id, options, null);
    this.question = options.answer === undefined ? null : new OpenQuestion(options.answer);
    this.evidence = options.evidence;
    this.silence = new Silence(options.failOnStallMs, ctx.clock.now());
  }

  async run(): Promise<TrackedRun> {
    try {
      for (;;) {
        const { following } = this;
        const item = await this.nextOrTime();
        if (item !== 'time' && 'left' in item) {
          if (item.left !== null) return item.left;
          this.recheckAtMs = this.ctx.clock.now() + TRACK_MS.soon;
          continue;
        }
        const ended =
          item === 'time' ? await this.onTime() : item.done ? await this.onEndOfItems() : await this.take(item.value);
        if (ended !== null && !this.isBeingAnswered(ended)) return ended;
        if (item !== 'time') following.taken();
      }
    } catch (error) {
      return await this.onError(error);
    } finally {
      this.question?.close();
      this.servers.stop();
      await this.following.end();
    }
  }

  /** The next item, or `time` when something else is due first, such as the deadline, which aborts the follower. */
  private async nextOrTime(): Promise<IteratorResult<FollowItem> | Answered | 'time'> {
    const deadlineMs = this.servers.isPastDeadline ? Number.POSITIVE_INFINITY : this.options.deadlineMs;
    const endMs = Math.min(deadlineMs, this.late?.untilMs ?? this.silence.dueMs);
    const dueMs = Math.min(endMs, this.recheckAtMs) - this.ctx.clock.now();
    const awaited = [this.following.next(), ...(this.question?.answers ?? [])];
    return await beforeTime<Awaited<(typeof awaited)[number]>>(this.ctx, dueMs, awaited).catch((error: unknown) => {
      if (!this.servers.current.isOver(error)) throw error;
      return 'time';
    });
  }

  /** While a confirmation is answered the run is tracked further, until the deadline. */
  private isBeingAnswered(ended: TrackedRun): boolean {
    const now = this.ctx.clock.now();
    if (this.question === null || ended.outcome.status !== 'waiting' || now >= this.options.deadlineMs) return false;
    this.late = null;
    this.question.open(ended);
    this.recheckAtMs = Number.POSITIVE_INFINITY;
    this.silence.startAnew(now);
    return true;
  }

  private async take(item: FollowItem): Promise<TrackedRun | null> {
    if (item.type === 'event') return await this.onEvent(item.event);
    if (item.type === 'state') return await this.onState(item.conversation);
    await this.notice(item.text);
    return null;
  }

  private async notice(text: string | null): Promise<void> {
    if (text !== null) await (this.options.onNotice ?? this.ctx.notice)(text);
  }

  private async onEvent(event: ConversationEvent): Promise<TrackedRun | null> {
    this.lastEvent = event;
    if (!isUpTo(event, this.options.startedAfter ?? null)) this.evidence = afterEvent(this.evidence, event);
    this.silence.onEvent(event, this.ctx.clock.now());
    const leftMs = Math.min(this.options.deadlineMs - this.ctx.clock.now(), LAST_LOOK_MS);
    await this.question?.closeIfAnswered(this.ctx, leftMs);
    await this.options.onEvent?.(event);
    if (this.last === null) return null;
    // `idle` is an end by the evidence of the events alone; other ends are read again first.
    const ended = this.last.status === 'idle' ? this.judged(this.last, this.evidence) : null;
    if (ended !== null) return ended;
    const soonMs = this.ctx.clock.now() + TRACK_MS.soon;
    if (this.looksEnded(this.last)) this.recheckAtMs = this.late ? soonMs : Math.min(this.recheckAtMs, soonMs);
    return null;
  }

  private async onState(conversation: Conversation): Promise<TrackedRun | null> {
    const { status, reason } = conversation;
    // The run has not ended and does nothing: the reason is shown.
    if (status === 'running' && reason !== null && reason.code !== this.last?.reason?.code)
      await this.notice(reason.text);
    this.last = conversation;
    this.deliveredStatus = status;
    const isOlder = ofLatestRun(conversation, this.evidence) === null;
    this.options.onState?.(conversation, isOlder ? 'perhaps-older' : 'latest');
    const ended = this.judged(conversation, this.evidence);
    if (ended !== null) return ended;
    this.doubt(conversation);
    return null;
  }

  private judged(conversation: Conversation, evidence: RunEvidence): TrackedRun | null {
    const outcome = (this.options.judge ?? judge)(conversation, evidence);
    return outcome === null ? null : { outcome, failure: null, record: conversation };
  }

  /** Whether the status would be an end if no event contradicted it. */
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
    this.recheckAtMs = this.ctx.clock.now() + 2 * TRACK_MS.soon;
  }

  /** The record as it is now; null while it cannot be read, and where the deadline comes first. */
  private async fresh(): Promise<Conversation | null> {
    const dueInMs = (this.late?.untilMs ?? this.options.deadlineMs) - this.ctx.clock.now();
    const leftMs = dueInMs > 0 ? dueInMs : LAST_LOOK_MS;
    const look = await beforeTime(this.ctx, leftMs, [readUnlessPassing(this.servers.current, this.id)]);
    return look === 'time' ? null : look;
  }

  private async recheck(): Promise<TrackedRun | null> {
    const fresh = lasting(await this.fresh(), this.deliveredStatus);
    if (fresh === null) {
      this.recheckAtMs = this.ctx.clock.now() + 4 * TRACK_MS.soon;
      return null;
    }
    const ended = this.judged(fresh, this.evidence);
    // The events before it are shown: the follower has delivered the status itself, or is waited for already.
    if (ended !== null && (fresh.status === this.deliveredStatus || this.late !== null)) return ended;
    this.last = fresh;
    if (ended !== null) return this.afterItsEvents(ended, TRACK_MS.lastEvents);
    const stoodMs = this.doubtSinceMs === null ? 0 : this.ctx.clock.now() - this.doubtSinceMs;
    if (stoodMs >= (this.evidence.since_message === 'none' ? TRACK_MS.doubtWithoutEvents : TRACK_MS.doubt)) {
      const stable = this.judged(fresh, standing(this.options, this.evidence, fresh));
      if (stable !== null && !(await this.goesOn(LAST_LOOK_MS))) return stable;
    }
    this.doubt(fresh);
    return null;
  }

  private async onTime(): Promise<TrackedRun | null> {
    const now = this.ctx.clock.now();
    const { deadlineMs, waitMs } = this.options;
    if (now >= deadlineMs && !this.servers.isPastDeadline) return await this.onDeadline(waitMs);
    if (now >= this.recheckAtMs) return await this.recheck();
    if (this.late !== null) return now >= this.late.untilMs ? this.late.tracked : null;
    if (now < this.silence.dueMs) return null;
    const fresh = lasting(await this.fresh(), this.deliveredStatus);
    if (fresh === null) {
      this.silence.startAnew(now);
      return null;
    }
    const ended = this.judged(fresh, this.evidence);
    if (ended !== null) return ended;
    const failure = this.silence.failure(fresh, now);
    if (failure !== null) return this.withoutOutcome(fresh, failure);
    await this.notice(this.silence.notice(fresh, now));
    return null;
  }

  /** The deadline has aborted the follower. The machine may have slept: the record is read once before the verdict. */
  private async onDeadline(waitMs: number): Promise<TrackedRun | null> {
    this.servers.passDeadline();
    if (this.late !== null) return await this.readRest(this.late.tracked, this.late.untilMs - this.ctx.clock.now());
    const last = this.lastOrBlank();
    if (this.options.atDeadline === 'stop') return this.withoutOutcome(last, deadlinePassed(last, waitMs));
    const endMs = this.ctx.clock.now() + LAST_LOOK_MS;
    const fresh = await this.fresh();
    if (fresh === null) return this.withoutOutcome(last, deadlinePassedUnseen(last, waitMs));
    const ended = this.judged(fresh, this.evidence);
    if (ended !== null) return ended;
    const stable = this.judged(fresh, standing(this.options, this.evidence, fresh));
    const leftMs = Math.max(endMs - this.ctx.clock.now(), 0);
    this.last = withKnownStatus(fresh, this.lastSeen());
    if (stable !== null && !(await this.goesOn(leftMs))) return await this.readRest(stable, leftMs);
    return this.withoutOutcome(null, deadlinePassed(this.lastOrBlank(), waitMs));
  }

  /** Whether the sandbox reports that the run is in progress; false when it does not answer in time. */
  private async goesOn(mostMs: number): Promise<boolean> {
    return (await beforeTime(this.ctx, mostMs, [runsInSandbox(this.servers.current, this.id)])) === true;
  }

  /** Where events are shown, the last ones are waited for before the outcome. */
  private afterItsEvents(tracked: TrackedRun, mostMs: number): TrackedRun | null {
    if (this.options.onEvent === undefined) return tracked;
    this.recheckAtMs = Number.POSITIVE_INFINITY;
    this.late = { tracked, untilMs: this.ctx.clock.now() + mostMs };
    return null;
  }

  /** As afterItsEvents, after the deadline has aborted the follower: another one starts after the last event. */
  private async readRest(tracked: TrackedRun, mostMs: number): Promise<TrackedRun | null> {
    if (this.options.onEvent === undefined) return tracked;
    await this.following.end();
    this.following = new Following(this.servers.current, this.id, this.options, this.lastEvent);
    return this.afterItsEvents(tracked, Math.min(TRACK_MS.eventsAfterDeadline, mostMs));
  }

  /** The follower ends by itself when the sandbox is gone for good. */
  private async onEndOfItems(): Promise<TrackedRun> {
    const { server } = this.servers.late;
    const fresh = await beforeEnd(this.ctx, this.options, server.conversations.getComplete(this.id));
    if (fresh === 'time')
      return this.withoutOutcome(this.last, deadlinePassedUnseen(this.lastOrBlank(), this.options.waitMs));
    return this.judged(fresh, afterStanding(this.evidence)) ?? endOfItems(fresh, this.evidence);
  }

  private async onError(error: unknown): Promise<TrackedRun> {
    if (!isAppError(error)) throw error;
    // The run has ended: events that cannot be read do not change its outcome.
    if (this.late !== null && error.kind !== 'interrupted') return this.late.tracked;
    const { server } = this.servers.late;
    if (error.kind === 'not-found' && (await beforeEnd(this.ctx, this.options, isGone(server, this.id))) === true) {
      return { outcome: deletedOutcome(this.id, this.evidence), failure: null };
    }
    // No outcome where stdout is closed (141) or another run has ended first. Ctrl-C at a prompt does not abort ctx.signal.
    const isLeft = this.ctx.signal.aborted || this.question?.isOpen === true;
    if (error.kind !== 'interrupted' || error.exitCode === 141 || !isLeft) throw error;
    return this.withoutOutcome(this.lastSeen(), interruption(error, this.id, this.lastSeen()));
  }

  /** The newest state of the latest run; null where the newest that was read may be of the run before. */
  private lastSeen(): Conversation | null {
    return ofLatestRun(this.last ?? this.options.seen ?? null, this.evidence);
  }

  private lastOrBlank(): Conversation {
    return this.lastSeen() ?? blankConversation(this.id, NOT_READ);
  }

  private withoutOutcome(conversation: Conversation | null, failure: AppError): TrackedRun {
    return openRun(conversation ?? this.lastOrBlank(), this.evidence, failure);
  }
}
