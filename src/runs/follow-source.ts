import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { parseTime } from '../base/text/time.ts';

/** Each event comes once and in order. */
export type FollowItem =
  | { type: 'event'; event: ConversationEvent }
  /** `text` returns the newest text of an answer that is being written. */
  | { type: 'partial'; text: () => string }
  | { type: 'state'; conversation: Conversation }
  | { type: 'notice'; text: string };

export interface FollowOptions {
  afterEventId?: string | undefined;
  /** Start at this time, inclusive: RFC 3339. */
  since?: string | undefined;
  signal: AbortSignal;
  /** `once`: only the record as it is now, after the events of a run that has stopped. */
  extent?: 'once' | undefined;
  request?: ReadRequest;
  /** Whether parts of answers are wanted. */
  deltas?: boolean;
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
  /** Built when it is yielded; null for a snapshot or a piece of a text. */
  event: (() => ConversationEvent) | null;
  execution_status: string | null;
  /** The event of the action that this one is the result of. */
  action_id?: string | null;
  partial?: (() => string) | null;
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
  /** Begins at the start of the window; events may come again. */
  readEvents(window: FollowWindow): AsyncIterable<SourceEvent>;
  /** Waits for the last events of a run that has ended. */
  catchUp?(conversation: Conversation): Promise<'complete' | 'read-again'>;
  /** Null where the newest record names no socket. */
  openSocket(): Promise<FollowSocket | null>;
  /** After a close with 4001 or 4004. Throws `auth` or `not-found`. */
  confirmRefusal?(): Promise<void>;
  /** `afterEvent`: the first pause without a socket after an event, from which pauses grow. */
  pollMs: { reading: number; listening: number; afterEvent?: number };
}

/** Servers may store an event after a younger one: a read starts this much before the newest. */
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
