/**
 * What the verbs of `conv` and `sandbox` have in common: each of the two is a resource, and finding, selecting,
 * listing, previewing and changing records is written once, in this folder.
 */
import type { Context } from '../../context.ts';
import type { IdWord } from '../../domain/ids.ts';
import type { Selection } from '../../domain/selectors.ts';
import type { View } from '../../output/view.ts';
import type { Page } from '../../domain/pages.ts';
import type { Server } from '../../servers/server.ts';

/** What any record of a resource has. */
export interface StatusRecord {
  status: string;
}

export interface Resource<R extends StatusRecord> {
  /** For messages. */
  noun: 'conversation' | 'sandbox';
  plural: string;
  /** The word of the command line. */
  command: 'conv' | 'sandbox';
  view: View<R>;
  /** Null when the word cannot name a record. */
  readWord(word: string): IdWord | null;
  /** All ids that a record is known by; empty ones never match a prefix. The first that is not empty is printed. */
  idsOf(record: R): readonly string[];
  /** The record that `@last` names. */
  ofLast(server: Server, conversationId: string): Promise<R>;
  /** @param seen the record as it was read before, for errors */
  get(server: Server, id: string, seen?: R): Promise<R>;
  list: (server: Server, page: string | null, pageSize: number) => Promise<Page<R>>;
  /** Reads first what the selection needs besides the records. */
  selector(ctx: Context, server: Server, selection: Selection): Promise<Selector<R>>;
  /** What is printed for a record that does not exist, with --ignore-not-found. */
  gone(word: string): R;
  preview(targets: readonly Target<R>[]): Preview;
}

export interface Selector<R> {
  matches(record: R): boolean;
  /** As `matches`, with what the selection needs besides the record read again for this record. */
  stillMatches(record: R): Promise<boolean>;
}

/** A record that a command changes. */
export interface Target<R> {
  id: string;
  /** The profile of its server, when several were given. */
  profile?: string;
  server: Server;
  /** As it was when it was chosen; in `apply`, as it was read right before. */
  seen: R;
  /** Undefined for a record that was named, and with --all. */
  selector?: Selector<R>;
  chosenBy: 'id' | 'selector';
}

/** What the user sees before the question. */
export interface Preview {
  /** A line for each record that the change hits. */
  preview: string[];
  /** The end of the question, such as ` with 2 conversations`. */
  suffix: string;
}

export function idOf<R extends StatusRecord>(resource: Resource<R>, record: R): string {
  return resource.idsOf(record).find((id) => id !== '') ?? '';
}
