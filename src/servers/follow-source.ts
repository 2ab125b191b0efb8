/** What following needs of a dialect: the record, the stored events, and a socket where there is one. */
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import type { FollowWindow } from './follow-window.ts';

/** One event as it was met, on either way. */
export interface Sighting {
  id: string;
  timestamp: string | null;
  /** Made when it is told; null for what is not told (snapshots, pieces of a text). */
  event: (() => ConversationEvent) | null;
  /** The new state of the run when the event tells one. */
  word: string | null;
}

export interface FollowSocket {
  take(): Sighting[];
  activity(): Promise<void>;
  readonly closed: { code: number } | null;
  close(): void;
}

/** What the engine needs of a dialect. */
export interface FollowSource {
  /** The record now. Throws `not-found`, `auth` and the like. */
  look(): Promise<Conversation>;
  /** The record with its reason and what only the events tell. */
  settle(conversation: Conversation): Promise<Conversation>;
  /** Stored events, oldest first, from the window's position on; known ones may come again. */
  read(window: FollowWindow): AsyncIterable<Sighting>;
  /** Waits for the last events of a run that has ended, where they come later than its state. */
  catchUp?(conversation: Conversation): Promise<'complete' | 'read-again'>;
  /** Null where there is nothing to connect to, by the record that was looked at last. */
  openSocket(window: FollowWindow): Promise<FollowSocket | null>;
  /** How often to look without a socket, and with one. */
  pollMs: { reading: number; listening: number };
}
