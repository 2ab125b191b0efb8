/** The servers of a watch, and its follower: the deadline aborts what is in flight there. */
import type { Context } from '../../context.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import type { FollowItem, Server } from '../../servers/server.ts';
import { timeLimit } from '../deadline.ts';
import { placeToStart, type WatchOptions } from './watch-options.ts';

export interface BoundServer {
  server: Server;
  signal: AbortSignal;
}

export interface WatchServers {
  /** Its requests are aborted at the deadline, with an error that `isOver` knows. */
  timed: BoundServer;
  /** For what is read after the deadline. */
  late: BoundServer;
  isOver(error: unknown): boolean;
  /** Aborts the requests of both. */
  stop(): void;
}

/** A request in flight may not keep the command after the outcome either: `stop` is called at the end of the watch. */
export async function watchServers(ctx: Context, server: Server, options: WatchOptions): Promise<WatchServers> {
  const over = new AppError('timeout', 'the deadline of the watch has passed');
  const stop = new AbortController();
  const limit = timeLimit(ctx, options.deadlineMs - ctx.clock.now(), over);
  const late = AbortSignal.any([stop.signal, ctx.signal, ...(options.signal ? [options.signal] : [])]);
  const timed = AbortSignal.any([late, limit.signal]);
  return {
    timed: { server: await server.withSignal(timed), signal: timed },
    late: { server: await server.withSignal(late), signal: late },
    isOver: (error) => error === over,
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
  constructor({ server, signal }: BoundServer, id: string, options: WatchOptions, after: ConversationEvent | null) {
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

  /** To be called when its server was stopped: it waits for what is in flight. */
  async end(): Promise<void> {
    await this.pending.catch(() => undefined);
    await this.items.return?.().catch(() => undefined);
  }
}
