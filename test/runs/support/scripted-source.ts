import { blankConversation, type Conversation } from '../../../src/domain/conversation.ts';
import { AppError } from '../../../src/base/errors.ts';
import type {
  FollowOptions,
  FollowSocket,
  FollowSource,
  FollowWindow,
  SourceEvent,
} from '../../../src/runs/follow-source.ts';
import { follow } from '../../../src/runs/follower.ts';
import { TestClock, settled } from '../../support/test-clock.ts';
import { conversationEvent } from './event.ts';

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
