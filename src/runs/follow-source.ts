import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { parseTime } from '../base/text/time.ts';

/** Each event comes once and in order. */
export type FollowItem =
  | { type: 'event'; event: ConversationEvent }
  | { type: 'state'; conversation: Conversation }
  | { type: 'notice'; text: string };

export interface FollowOptions {
  afterEventId?: string;
  /** Start at this time, inclusive: RFC 3339. */
  since?: string;
  signal: AbortSignal;
  /**
   * `once`: the record as it is now, after the events of a run that does not work, and nothing
   * else.
   */
  extent?: 'once';
  request?: ReadRequest;
}

export class ReadRequest {
  isPending = false;
  onMade = (): void => undefined;

  make(): void {
    this.isPending = true;
    this.onMade();
  }
}

export interface SourceEvent {
  id: string;
  timestamp: string | null;
  /**
   * Built when it is yielded; null for what is not an event to a user (snapshots, pieces of a
   * text).
   */
  event: (() => ConversationEvent) | null;
  execution_status: string | null;
}

export interface FollowSocket {
  take(): SourceEvent[];
  activity(): Promise<void>;
  readonly closed: { code: number } | null;
  close(): void;
}

export interface FollowSource {
  readRecord(): Promise<Conversation>;
  complete(conversation: Conversation, extent?: 'once'): Promise<Conversation>;
  /** From the window's start on; known ones may come again. */
  readEvents(window: FollowWindow): AsyncIterable<SourceEvent>;
  /** Waits for the last events of a run that has ended, where they come later than its state. */
  catchUp?(conversation: Conversation): Promise<'complete' | 'read-again'>;
  /** Null where there is nothing to connect to, by the newest record. */
  openSocket(): Promise<FollowSocket | null>;
  /**
   * After a socket was closed because of the key or the conversation. Throws `auth` or `not-found`.
   */
  confirmRefusal?(): Promise<void>;
  /**
   * `afterEvent`: the first pause without a socket after an event; the pause grows with the time
   * since the event.
   */
  pollMs: { reading: number; listening: number; afterEvent?: number };
}

/**
 * An event may be stored a little after one that is younger; reading starts this much before the
 * newest.
 */
const OVERLAP_MS = 2_000;

export class FollowWindow {
  lastId: string | null = null;
  private readonly ids = new Set<string>();
  private readonly startMs: number | null;
  private newestMs: number | null = null;

  constructor(startMs: number | null) {
    this.startMs = startMs;
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }

  add(id: string, timestamp: string | null): void {
    this.ids.add(id);
    this.lastId = id;
    const ms = parseTime(timestamp);
    if (ms !== null) this.newestMs = Math.max(this.newestMs ?? ms, ms);
  }

  /** Milliseconds since the epoch; null: from the beginning. */
  sinceMs(overlapMs = OVERLAP_MS): number | null {
    return this.newestMs === null
      ? this.startMs
      : Math.max(this.newestMs - overlapMs, this.startMs ?? 0);
  }
}
