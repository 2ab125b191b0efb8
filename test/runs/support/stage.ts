import type { Context } from '../../../src/commands/context.ts';
import { blankConversation, type Conversation } from '../../../src/domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../../src/domain/event.ts';
import { NOT_READ, NO_EVENTS, type TrackedRun } from '../../../src/runs/outcome.ts';
import { trackRun, type TrackOptions } from '../../../src/runs/tracker.ts';
import type { FollowItem, FollowOptions } from '../../../src/runs/follow-source.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import { TestClock, settled } from '../../support/test-clock.ts';
import { conversationEvent } from './event.ts';

type EventItem = Extract<FollowItem, { type: 'event' }>;

let count = 0;
export const event = (signal: RunSignal | null, timestamp: string | null = null): EventItem => ({
  type: 'event',
  event: conversationEvent(`e${(count += 1)}`, { timestamp, text: `the event ${signal}`, signal }),
});
export const message = () => event('message');
/** `other` is a status that the run has when it does not continue. */
export const statusEvent = (status: 'running' | 'other') => event(`status:${status}`);

/** A server whose record and follower items are set by the test, and the clock of the tracker. */
export class Stage {
  readonly clock = new TestClock();
  readonly notices: string[] = [];
  readonly interruption = new AbortController();
  record: Conversation = { ...blankConversation('c', 'running') };
  /** When the tracker has made the follower read the record. */
  readonly looks: number[] = [];
  /** What aborts each of these reads. */
  readonly lookSignals: AbortSignal[] = [];
  /** Where each follower started. */
  readonly follows: FollowOptions[] = [];
  onLook: () => void | Promise<void> = () => undefined;
  /** The stored events, newest first. */
  stored: ConversationEvent[] = [];
  inSandbox: () => Promise<boolean> = () => Promise.resolve(false);
  /** What the conversation is when it is only read by its id. */
  get: () => Promise<Conversation> = () => Promise.resolve(this.record);
  follower: (from: FollowOptions) => AsyncIterable<FollowItem> = (from) => this.follow(from);
  /** What the tracker has returned, and when. */
  ended: { run: TrackedRun; atMs: number } | null = null;
  lastEventId: string | null = null;
  private readonly items: FollowItem[] = [];
  private readonly wakers: (() => void)[] = [];
  private isOver = false;
  private fault: unknown = null;

  deliver(...items: FollowItem[]): Promise<void> {
    for (const item of items) if (item.type === 'event') this.lastEventId = item.event.id;
    this.items.push(...items);
    for (const wake of this.wakers.splice(0)) wake();
    return settled();
  }

  over(): Promise<void> {
    this.isOver = true;
    return this.deliver();
  }

  /** The follower throws this after what was delivered. */
  fail(fault: unknown): Promise<void> {
    this.fault = fault;
    return this.deliver();
  }

  state(status: Conversation['status'], members: Partial<Conversation> = {}): FollowItem {
    this.record = { ...this.record, status, ...members };
    return { type: 'state', conversation: this.record };
  }

  /** Without the summary of the events, which the tracker then reads first. */
  watchUnread(options: Partial<TrackOptions> = {}): Promise<TrackedRun> {
    return this.watch(options, {});
  }

  watch(
    options: Partial<TrackOptions> = {},
    known: Partial<TrackOptions> = { summary: NO_EVENTS },
  ): Promise<TrackedRun> {
    const ctx = {
      clock: this.clock,
      signal: this.interruption.signal,
      notice: (text: string) => Promise.resolve(void this.notices.push(text)),
    } as unknown as Context;
    const stored = (): ConversationEvent[] => this.stored;
    const server: Server = {
      withSignal: () => Promise.resolve(server),
      conversations: {
        follow: (_: string, from: FollowOptions) => this.follower(from),
        get: () => this.get(),
        runsInSandbox: () => this.inSandbox(),
        eventPages: async function* (this: void) {
          yield await Promise.resolve(stored());
        },
      },
    } as unknown as Server;
    const watched = trackRun(ctx, server, 'c', {
      ...known,
      seen: blankConversation('c', NOT_READ),
      since: null,
      deadlineMs: Infinity,
      waitMs: Infinity,
      failOnStallMs: null,
      ...options,
    });
    watched.then(
      (run) => (this.ended = { run, atMs: this.clock.now() }),
      () => undefined,
    );
    return watched;
  }

  private async *look({ signal, request }: FollowOptions): AsyncGenerator<FollowItem> {
    this.looks.push(this.clock.now());
    this.lookSignals.push(signal);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([this.onLook(), aborted]);
    if (request) request.isPending = false;
    yield { type: 'state', conversation: this.record };
  }

  private async *follow(from: FollowOptions): AsyncGenerator<FollowItem> {
    const { request, signal, ...start } = from;
    this.follows.push({ signal, ...start });
    const wake = () => this.deliver();
    if (request) request.onMade = () => void wake();
    for (;;) {
      signal.throwIfAborted();
      const item = this.items.shift();
      if (item !== undefined) yield item;
      else if (this.fault !== null) throw this.fault;
      else if (from.extent === 'once') return yield* this.look(from);
      else if (request?.isPending) yield* this.look(from);
      else if (this.isOver) return;
      else {
        await new Promise<void>((resolve, reject) => {
          this.wakers.push(resolve);
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        });
      }
    }
  }
}
