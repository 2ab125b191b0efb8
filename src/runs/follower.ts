/**
 * Following a conversation without a gap. The socket is opened first and what is stored is read afterwards, so nothing
 * falls between the two; repeated events are recognised by their id. Where there is no socket (V0, a sandbox that is
 * paused or gone, a cut) the stored events are polled. The follower judges nothing: it yields every change of the
 * record, and its caller stops when it has what it needs.
 */
import { AppError } from '../errors.ts';
import { beforeTime, isPassing } from './deadline.ts';
import { poll, type Cadence } from './poll.ts';
import { endOfStatus } from './status.ts';
import type { Conversation } from '../domain/conversation.ts';
import { parseTime } from '../text/time.ts';
import type { FollowSource, Sighting } from './follow-source.ts';
import { createFollowWindow, type FollowWindow } from './follow-source.ts';
import type { FollowItem, FollowOptions } from './follow-source.ts';
import { backoffMs, Connection } from './connection.ts';
import type { Clock } from '../clock.ts';

/** The times of the follower, in milliseconds. */
const FOLLOW_MS = {
  /** A cut of the connection that is not reported. */
  silentCut: 5_000,
  /** The longest cut. */
  longestCut: 300_000,
  /** From a record that may recover to the next look. */
  recovery: 500,
} as const;
/** For a record that is older than an event: four reads within a second. */
const WORD_READS: Cadence = { firstMs: 125, mostMs: 500 };

export async function* follow(
  source: FollowSource,
  clock: Clock,
  runSignal: AbortSignal,
  options: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const follower = new Follower(source, clock, AbortSignal.any([runSignal, options.signal]), options);
  try {
    yield* follower.run();
  } finally {
    follower.end();
  }
}

class Follower {
  private readonly source: FollowSource;
  private readonly clock: Clock;
  private readonly signal: AbortSignal;
  private readonly window: FollowWindow;
  /** Events up to this one are passed over. */
  private skipTo: string | null;
  private readonly connection = new Connection();
  private reported: Conversation | null = null;
  private word: string | null = null;
  private cutAtMs: number | null = null;
  private noticed = false;
  private failures = 0;
  private reopenAtMs = 0;
  private lookAtMs = 0;
  private eventAtMs = Number.NEGATIVE_INFINITY;
  private wake = (): void => undefined;

  constructor(source: FollowSource, clock: Clock, signal: AbortSignal, options: FollowOptions) {
    this.source = source;
    this.clock = clock;
    this.signal = signal;
    signal.addEventListener('abort', () => this.wake());
    this.window = createFollowWindow(parseTime(options.since ?? null));
    this.skipTo = options.afterEventId ?? null;
  }

  end(): void {
    this.connection.close();
  }

  async *run(): AsyncGenerator<FollowItem, void, void> {
    const first = yield* this.begin();
    if (this.skipTo !== null)
      throw new AppError('not-found', `there is no event ${this.skipTo.slice(0, 100)} in this conversation`);
    try {
      const isNewest = this.word === null || this.word === first.execution_status;
      if (isNewest) this.word = null;
      yield* this.report(isNewest ? first : await this.freshLook());
    } catch (error) {
      this.failed(error);
    }
    while (!this.isArchived()) {
      this.signal.throwIfAborted();
      yield* this.takeFrames();
      yield* this.step();
      if (!this.isArchived()) await this.rest();
    }
  }

  /** The first read of record and events, retried after network errors: the caller has already read the record. */
  private async *begin(): AsyncGenerator<FollowItem, Conversation, void> {
    for (;;) {
      this.signal.throwIfAborted();
      try {
        const first = await this.source.look();
        await this.connect();
        yield* this.readStored();
        this.recovered();
        return first;
      } catch (error) {
        this.failed(error);
      }
      this.end();
      yield* this.reportCut();
      await this.rest();
    }
  }

  private isArchived(): boolean {
    return this.reported?.status === 'archived';
  }

  /** One round: reconnect or read where there is no socket, look at the record when it is time. */
  private async *step(): AsyncGenerator<FollowItem, void, void> {
    try {
      if (!this.connection.isOpen) {
        if (this.clock.now() >= this.reopenAtMs) yield* this.reconnect();
      } else if (this.connection.isQuiet(this.clock.now())) {
        yield* this.listenAgain();
      }
      if (this.word !== null || this.clock.now() >= this.lookAtMs) {
        const isReported = this.word !== null;
        yield* this.report(await this.freshLook(), isReported);
        this.recovered();
      }
    } catch (error) {
      this.failed(error);
    }
    yield* this.reportCut();
  }

  private async *reconnect(): AsyncGenerator<FollowItem, void, void> {
    const conversation = await this.source.look();
    if (this.connection.wasRefused) await this.source.confirmRefusal?.();
    await this.connect();
    yield* this.readStored();
    if (this.word === null) yield* this.report(conversation);
    this.recovered();
  }

  /** A cut of more than 5 s is reported once; shorter ones are not. */
  private *reportCut(): Generator<FollowItem, void, void> {
    if (this.cutAtMs === null || this.noticed || this.clock.now() - this.cutAtMs < FOLLOW_MS.silentCut) return;
    this.noticed = true;
    yield { type: 'notice', text: 'the connection is cut; acs keeps trying, and then shows the events it missed' };
  }

  /** Reads what a silent socket should have delivered; one that missed an event is dead. */
  private async *listenAgain(): AsyncGenerator<FollowItem, void, void> {
    this.connection.wasChecked(this.clock.now());
    const { lastId } = this.window;
    yield* this.readStored();
    if (!this.connection.isOpen || this.window.lastId === lastId) return;
    this.connection.close();
    this.reopenAtMs = this.clock.now();
  }

  private recovered(): void {
    this.cutAtMs = null;
    this.noticed = false;
    this.failures = 0;
  }

  /** A cut connection or a server that restarts passes; a refusal or a deleted conversation does not. */
  private failed(error: unknown): void {
    if (!isPassing(error)) throw error;
    const now = this.clock.now();
    this.cutAtMs ??= now;
    if (now - this.cutAtMs >= FOLLOW_MS.longestCut) throw error;
    this.failures += 1;
    this.reopenAtMs = this.lookAtMs = now + backoffMs(this.failures);
  }

  private async connect(): Promise<void> {
    const socket = await this.source.openSocket(this.window);
    const now = this.clock.now();
    this.connection.opened(socket, now);
    this.reopenAtMs = now + this.readingMs(now);
  }

  /** The pause before the next read without a socket: a fifth of the time since the newest event, within bounds. */
  private readingMs(now: number): number {
    const { reading, afterEvent = reading } = this.source.pollMs;
    return Math.min(reading, Math.max(afterEvent, (now - this.eventAtMs) / 5));
  }

  private *takeFrames(): Generator<FollowItem, void, void> {
    const now = this.clock.now();
    this.receive(now);
    for (const sighting of this.connection.due(now)) yield* this.meet(sighting);
  }

  private receive(now: number): void {
    const pauseMs = this.connection.receive(this.window, now);
    if (pauseMs !== null) this.reopenAtMs = this.lookAtMs = now + pauseMs;
  }

  private async *readStored(): AsyncGenerator<FollowItem, void, void> {
    const startMs = this.clock.now();
    this.receive(startMs);
    for await (const sighting of this.source.read(this.window)) {
      this.signal.throwIfAborted();
      yield* this.meet(sighting);
    }
    for (const sighting of this.connection.receivedBy(startMs)) yield* this.meet(sighting);
    yield* this.takeFrames();
  }

  private *meet(sighting: Sighting): Generator<FollowItem, void, void> {
    if (!this.window.isNew(sighting.id, sighting.timestamp)) return;
    this.eventAtMs = this.clock.now();
    // Of use without a socket only: the end of a socket sets it again.
    this.reopenAtMs = Math.min(this.reopenAtMs, this.eventAtMs + this.readingMs(this.eventAtMs));
    if (sighting.word !== null) this.word = sighting.word;
    if (this.skipTo !== null) {
      if (sighting.id === this.skipTo) this.skipTo = null;
      return;
    }
    if (sighting.event !== null) yield { type: 'event', event: sighting.event() };
  }

  /** The record, read again while its status is older than the one that an event reported. */
  private async freshLook(): Promise<Conversation> {
    const { clock, signal, word } = this;
    this.word = null;
    let newest = await this.source.look();
    const isOlder = (): boolean =>
      word !== null && newest.execution_status !== null && newest.execution_status !== word;
    const look = async (): Promise<Conversation | undefined> => {
      newest = await this.source.look();
      return isOlder() ? undefined : newest;
    };
    if (isOlder()) await poll(look, { clock, signal, every: WORD_READS, until: clock.now() + 800, readBefore: true });
    return newest;
  }

  /** @param isReported whether an event reported this status */
  private async *report(conversation: Conversation, isReported = false): AsyncGenerator<FollowItem, void, void> {
    const now = this.clock.now();
    // Without a socket the next connection comes first, and with it a look.
    this.lookAtMs = now + this.source.pollMs.listening;
    if (conversation.may_recover) {
      this.lookAtMs = now + FOLLOW_MS.recovery;
      return;
    }
    // A short run may begin and end between two reads: its end is reported though the status before it was the same.
    const again = isReported && endOfStatus(conversation.status) !== null;
    if (!again && this.reported !== null && !differs(this.reported, conversation)) return;
    let state = conversation;
    if (endOfStatus(conversation.status) !== null) {
      // Events that were stored before the end are delivered before it.
      yield* this.readStored();
      if ((await this.source.catchUp?.(conversation)) === 'read-again') yield* this.readStored();
      // The event of this end may have come only with this read: it reports no other end.
      if (this.word === conversation.execution_status) this.word = null;
      state = await this.source.complete(conversation);
    }
    if (!again && this.reported !== null && !differs(this.reported, state)) return;
    this.reported = state;
    yield { type: 'state', conversation: state };
  }

  private async rest(): Promise<void> {
    const now = this.clock.now();
    const { connection } = this;
    const untilMs = connection.isOpen ? this.lookAtMs : Math.min(this.reopenAtMs, this.lookAtMs);
    const waitMs = Math.min(Math.max(untilMs - now, 20), connection.dueMs - now);
    this.signal.throwIfAborted();
    // One listener for the whole run: a signal made for each of 100,000 waits would be kept by its parents.
    const woken = new Promise<void>((resolve) => (this.wake = resolve));
    await beforeTime({ clock: this.clock }, waitMs, [woken, ...connection.activity()]);
    // On a busy machine a frame may be due while older ones have arrived and are not yet read.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** `reported` may have more than a plain record: what comes from the events alone does not count. */
function differs(reported: Conversation, now: Conversation): boolean {
  if (reported.execution_status !== now.execution_status || reported.sandbox_status !== now.sandbox_status) return true;
  if (reported.title !== now.title) return true;
  // The reason of a run without progress. The events may have a better reason for a run that has ended.
  if (now.status === 'running' && reported.reason?.code !== now.reason?.code) return true;
  const asleep = now.execution_status === null && now.sandbox_status !== null && now.sandbox_status !== 'running';
  return !asleep && reported.status !== now.status;
}
