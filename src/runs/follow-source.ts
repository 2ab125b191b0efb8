/** What following needs of a dialect: the record, the stored events, and a socket where there is one. */
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { parseTime } from '../text/time.ts';
import { SeenIds } from '../domain/seen-ids.ts';

/** What a follower yields: each event once and in order, and every change of the record. */
export type FollowItem =
  | { type: 'event'; event: ConversationEvent }
  | { type: 'state'; conversation: Conversation }
  /** About the connection, such as a reconnect that takes longer than 5 s. */
  | { type: 'notice'; text: string };

export interface FollowOptions {
  /** Start after this event instead of at the beginning. */
  afterEventId?: string;
  /** Start at this time, inclusive: RFC 3339. */
  since?: string;
  signal: AbortSignal;
}

/** One event, from the socket or from a read. */
export interface Sighting {
  id: string;
  timestamp: string | null;
  /** Built when it is yielded; null for what is not an event to a user (snapshots, pieces of a text). */
  event: (() => ConversationEvent) | null;
  /** The status of the run that the event reports, in the server's word. */
  word: string | null;
}

export interface FollowSocket {
  take(): Sighting[];
  activity(): Promise<void>;
  readonly closed: { code: number } | null;
  close(): void;
}

/** What the follower needs of a dialect. */
export interface FollowSource {
  /** The record now. Throws `not-found`, `auth` and the like. */
  look(): Promise<Conversation>;
  /** The complete record: with its reason, and what only the events have. */
  complete(conversation: Conversation): Promise<Conversation>;
  /** Stored events, oldest first, from the window's position on; known ones may come again. */
  read(window: FollowWindow): AsyncIterable<Sighting>;
  /** Waits for the last events of a run that has ended, where they come later than its state. */
  catchUp?(conversation: Conversation): Promise<'complete' | 'read-again'>;
  /** Null where there is nothing to connect to, by the record that was looked at last. */
  openSocket(window: FollowWindow): Promise<FollowSocket | null>;
  /**
   * One read after a socket was closed because of the key or the conversation. Throws `auth` or `not-found` when that
   * is confirmed.
   */
  confirmRefusal?(): Promise<void>;
  /**
   * How often to look without a socket, and with one. `afterEvent`: how soon without a socket after an event; the pause
   * then grows with the time since the event.
   */
  pollMs: { reading: number; listening: number; afterEvent?: number };
}

/** An event may be stored a little after one that is younger; reading starts this much before the newest. */
const OVERLAP_MS = 2_000;

/** The events that a follower has seen. */
export interface FollowWindow {
  /** False when this event was seen before. */
  isNew(id: string, timestamp: string | null): boolean;
  /** Whether this event was seen before. */
  has(id: string): boolean;
  /** From where to read again, milliseconds since the epoch, so much before the newest; null: from the start. */
  sinceMs(overlapMs?: number): number | null;
  readonly lastId: string | null;
}

export function createFollowWindow(startMs: number | null): FollowWindow {
  const ids = new SeenIds();
  let newestMs: number | null = null;
  let lastId: string | null = null;
  return {
    isNew(id, timestamp) {
      const { size } = ids;
      if (ids.add(id).size === size) return false;
      lastId = id;
      const ms = parseTime(timestamp);
      if (ms !== null) newestMs = Math.max(newestMs ?? ms, ms);
      return true;
    },
    has: (id) => ids.has(id),
    sinceMs: (overlapMs = OVERLAP_MS) => (newestMs === null ? startMs : Math.max(newestMs - overlapMs, startMs ?? 0)),
    get lastId() {
      return lastId;
    },
  };
}
