/** An event of the conversation `c`, without a signal of its run unless `members` has one. */
import type { ConversationEvent, RunSignal } from '../../../src/domain/event.ts';
import { blankConversation, type Conversation } from '../../../src/domain/conversation.ts';
import { AppError } from '../../../src/base/errors.ts';
import type {
  FollowItem,
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../../src/runs/follow-source.ts';
import { follow } from '../../../src/runs/follower.ts';
import { settled, TestClock } from '../../support/test-clock.ts';
import type { Context } from '../../../src/commands/context.ts';
import { NO_EVENTS, NOT_READ, type TrackedRun } from '../../../src/runs/outcome.ts';
import { trackRun, type TrackOptions } from '../../../src/runs/tracker.ts';
import type { Server } from '../../../src/client/shared/server.ts';

export const conversationEvent = (
  id: string,
  members: Partial<ConversationEvent> = {},
): ConversationEvent => ({
  type: 'event',
  id,
  conversation_id: 'c',
  timestamp: null,
  source: null,
  kind: 'any',
  text: '',
  payload: {},
  signal: null,
  ...members,
});

export const unreachable = (): AppError => new AppError('network', 'no connection');

/** An event; its text is its id. */
export function sourceEvent(id: string, members: Partial<SourceEvent> = {}): SourceEvent {
  const event = conversationEvent(id, { text: id });
  return { id, timestamp: null, event: () => event, execution_status: null, ...members };
}

export class ScriptedSocket implements FollowSocket {
  closed: { code: number } | null = null;
  closedByFollower = false;
  private frames: SourceEvent[] = [];
  private wakers: (() => void)[] = [];

  take(): SourceEvent[] {
    return this.frames.splice(0);
  }

  activity(): Promise<void> {
    return new Promise((resolve) => this.wakers.push(resolve));
  }

  close(): void {
    this.closedByFollower = true;
  }

  async send(...frames: SourceEvent[]): Promise<void> {
    this.frames.push(...frames);
    await this.wake();
  }

  async cut(code = 1006): Promise<void> {
    this.closed = { code };
    await this.wake();
  }

  private async wake(): Promise<void> {
    for (const wake of this.wakers.splice(0)) wake();
    await settled();
  }
}

/**
 * A conversation that is followed; the clock is moved by the test. `asked` has each call with its
 * time.
 */
export class ScriptedSource implements FollowSource {
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  readonly readsSinceMs: (number | null)[] = [];
  readonly lines: string[] = [];
  readonly sockets: ScriptedSocket[] = [];
  readonly pollMs = { reading: 1_000, listening: 3_000 };
  readonly run = new AbortController();
  record: Conversation = {
    ...blankConversation('c', 'running'),
    execution_status: 'running',
    sandbox_status: 'running',
  };
  stored: SourceEvent[] = [];
  hasSocket = false;
  /** Called by each look, before it answers. */
  onLook: () => void | Promise<void> = () => undefined;
  onRead: () => void = () => undefined;
  onOpen: (socket: ScriptedSocket) => void = () => undefined;
  completedAs: (conversation: Conversation) => Conversation = (conversation) => conversation;
  catchUp?: FollowSource['catchUp'];
  confirmRefusal?: FollowSource['confirmRefusal'];
  ended: Promise<unknown> = Promise.resolve();
  endedWith: unknown = 'not ended';

  async readRecord(): Promise<Conversation> {
    this.log('record');
    await this.onLook();
    return this.record;
  }

  complete(conversation: Conversation): Promise<Conversation> {
    this.log('complete');
    return Promise.resolve(this.completedAs(conversation));
  }

  async *readEvents(window: FollowWindow): AsyncGenerator<SourceEvent> {
    this.log('read');
    this.readsSinceMs.push(window.sinceMs());
    this.onRead();
    yield* [...this.stored];
    await Promise.resolve();
  }

  openSocket(): Promise<FollowSocket | null> {
    this.log('open');
    if (!this.hasSocket) return Promise.resolve(null);
    const socket = new ScriptedSocket();
    this.sockets.push(socket);
    this.onOpen(socket);
    return Promise.resolve(socket);
  }

  items(options: Partial<FollowOptions> = {}): ReturnType<typeof follow> {
    return follow(this, this.clock, this.run.signal, {
      signal: new AbortController().signal,
      ...options,
    });
  }

  async start(options: Partial<FollowOptions> = {}): Promise<void> {
    this.ended = (async () => {
      for await (const item of this.items(options)) {
        if (item.type === 'event') this.lines.push(item.event.text);
        if (item.type === 'notice') this.lines.push(`!${item.text}`);
        if (item.type === 'state') this.lines.push(`=${item.conversation.status}`);
      }
    })().then(
      () => (this.endedWith = 'the end'),
      (error: unknown) => (this.endedWith = error),
    );
    await settled();
  }

  /** The times of these calls. */
  timesOf(what: 'record' | 'read' | 'open' | 'complete'): number[] {
    return this.asked.filter((one) => one.startsWith(what)).map((one) => Number(one.split('@')[1]));
  }

  set(members: Partial<Conversation>): void {
    this.record = { ...this.record, ...members };
  }

  private log(what: string): void {
    this.asked.push(`${what}@${this.clock.now()}`);
  }
}

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

  private async *look(
    { signal, request }: FollowOptions,
    aborted: Promise<never>,
  ): AsyncGenerator<FollowItem> {
    this.looks.push(this.clock.now());
    this.lookSignals.push(signal);
    await Promise.race([this.onLook(), aborted]);
    if (request) request.isPending = false;
    yield { type: 'state', conversation: this.record };
  }

  private async *follow(from: FollowOptions): AsyncGenerator<FollowItem> {
    const { request, signal, ...start } = from;
    this.follows.push({ signal, ...start });
    const wake = () => this.deliver();
    if (request) request.onMade = () => void wake();
    // One listener for all waits.
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    aborted.catch(() => undefined);
    for (;;) {
      signal.throwIfAborted();
      const item = this.items.shift();
      if (item !== undefined) yield item;
      else if (this.fault !== null) throw this.fault;
      else if (from.extent === 'once') return yield* this.look(from, aborted);
      else if (request?.isPending) yield* this.look(from, aborted);
      else if (this.isOver) return;
      else await Promise.race([new Promise<void>((resolve) => this.wakers.push(resolve)), aborted]);
    }
  }
}
