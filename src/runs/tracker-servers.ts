/** The servers of a tracker, before and after the deadline, and its follower. */
import type { Context } from '../context.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { AppError } from '../errors.ts';
import type { FollowItem } from './follow-source.ts';
import type { Server } from '../servers/server.ts';
import { timeLimit } from './deadline.ts';
import type { BoundServer } from './run-reads.ts';
import { placeToStart, type TrackOptions } from './tracker-options.ts';

export interface TrackerServers {
  /** The one to use now: until the deadline its requests are aborted there. */
  readonly current: BoundServer;
  readonly isPastDeadline: boolean;
  /** From now on `current` is the server for what is read after the deadline. */
  passDeadline(): void;
  /** Not aborted at the deadline. */
  readonly late: BoundServer;
  /** Aborts the requests of both: none in flight may keep the command after the outcome. */
  stop(): void;
}

export async function trackerServers(ctx: Context, server: Server, options: TrackOptions): Promise<TrackerServers> {
  const over = new AppError('timeout', 'the deadline has passed');
  const isOver = (error: unknown): boolean => error === over;
  const stop = new AbortController();
  const limit = timeLimit(ctx, options.deadlineMs - ctx.clock.now(), over);
  const lateSignal = AbortSignal.any([stop.signal, ctx.signal, ...(options.signal ? [options.signal] : [])]);
  const signal = AbortSignal.any([lateSignal, limit.signal]);
  const timed = { server: await server.withSignal(signal), signal, isOver };
  const late = { server: await server.withSignal(lateSignal), signal: lateSignal, isOver };
  let isPastDeadline = false;
  return {
    late,
    get current() {
      return isPastDeadline ? late : timed;
    },
    get isPastDeadline() {
      return isPastDeadline;
    },
    passDeadline() {
      isPastDeadline = true;
    },
    stop() {
      limit.clear();
      stop.abort();
    },
  };
}

/** A follower whose next item is requested before it is waited for. */
export class Following {
  private readonly items: AsyncIterator<FollowItem>;
  private pending: Promise<IteratorResult<FollowItem>>;

  /** @param after the newest event that was delivered before; null: start where the options say */
  constructor({ server, signal }: BoundServer, id: string, options: TrackOptions, after: ConversationEvent | null) {
    const start = after === null ? options : { since: after.timestamp, afterEventId: after.id };
    this.items = server.conversations.follow(id, placeToStart(start, signal))[Symbol.asyncIterator]();
    this.pending = this.items.next();
  }

  /** The same item until it is taken. */
  next(): Promise<IteratorResult<FollowItem>> {
    return this.pending;
  }

  taken(): void {
    this.pending = this.items.next();
  }

  /** Waits for what is in flight; called after its server was stopped. */
  async end(): Promise<void> {
    await this.pending.catch(() => undefined);
    await this.items.return?.().catch(() => undefined);
  }
}
