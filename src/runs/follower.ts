import { AppError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Conversation } from '../domain/conversation.ts';
import { parseTime } from '../base/text/time.ts';
import { beforeTime, isPassing } from './deadline.ts';
import {
  type FollowItem,
  type FollowOptions,
  type FollowSocket,
  type FollowSource,
  FollowWindow,
  ReadRequest,
  type SourceEvent,
} from './follow-source.ts';
import { poll, type Cadence } from './poll.ts';
import { endOfStatus, hasStopped } from './status.ts';
import { cut } from '../base/text/well-formed.ts';

const FOLLOW_MS = {
  /** A shorter cut of the connection is not reported. */
  silentCut: 5_000,
  longestCut: 300_000,
  longestBackoff: 5_000,
  recovery: 500,
  /** A socket that closes earlier without an event was refused, not cut. */
  stableSocket: 10_000,
  /** A socket that is silent for so long may be dead without a close. */
  silentSocket: 30_000,
  /** How long a frame waits for an older one that it has overtaken. Frames have no number. */
  frameKept: 20,
  shortestRest: 20,
} as const;
const STALE_RECORD: Cadence & { forMs: number } = { firstMs: 125, mostMs: 500, forMs: 800 };
/** Close codes of an agent server: it refuses the key, or does not have the conversation. */
const REFUSALS: ReadonlySet<number | null> = new Set([4001, 4004]);

type Items = AsyncGenerator<FollowItem, void, void>;

export async function* follow(
  source: FollowSource,
  clock: Clock,
  runSignal: AbortSignal,
  options: FollowOptions,
): Items {
  const signal = AbortSignal.any([runSignal, options.signal]);
  const follower = new Follower(source, clock, signal, options);
  try {
    yield* options.extent === 'once' ? follower.readOnce() : follower.run();
  } finally {
    follower.closeSocket();
  }
}

class Follower {
  private readonly source: FollowSource;
  private readonly clock: Clock;
  private readonly signal: AbortSignal;
  private readonly window: FollowWindow;
  private skipTo: string | null;
  private socket: FollowSocket | null = null;
  /** Sorted by time; frames of the same time in the order of arrival. */
  private frames: { event: SourceEvent; receivedAtMs: number }[] = [];
  private openedAtMs = 0;
  private frameAtMs = 0;
  private refused = 0;
  private closeCode: number | null = null;
  private delivered: Conversation | null = null;
  /** The execution status of the newest event that has one, until a record as new as it is read. */
  private reported: string | null = null;
  /** Null: the last attempt to reach the server has succeeded. */
  private outage: { sinceMs: number; failures: number; error: AppError } | null = null;
  private isOutageReported = false;
  private connectAtMs = 0;
  private readRecordAtMs = 0;
  private eventAtMs = Number.NEGATIVE_INFINITY;
  private readonly request: ReadRequest;
  private wake = (): void => undefined;

  constructor(source: FollowSource, clock: Clock, signal: AbortSignal, options: FollowOptions) {
    this.source = source;
    this.clock = clock;
    this.signal = signal;
    signal.addEventListener('abort', () => this.wake());
    this.window = new FollowWindow(parseTime(options.since));
    this.skipTo = options.afterEventId ?? null;
    this.request = options.request ?? new ReadRequest();
    this.request.onMade = () => {
      // In an outage the next attempt reads it.
      if (this.outage === null) this.readRecordAtMs = clock.now();
      this.wake();
    };
  }

  closeSocket(): void {
    this.socket?.close();
    this.socket = null;
  }

  async *run(): Items {
    const first = yield* this.begin();
    if (this.skipTo !== null)
      throw new AppError(
        'not-found',
        `there is no event ${cut(this.skipTo, 100)} in this conversation`,
      );
    try {
      yield* this.deliverRecord(await this.freshRecord(first));
    } catch (error) {
      this.failed(error);
    }
    while (!this.isArchived()) {
      this.signal.throwIfAborted();
      yield* this.deliverFrames();
      yield* this.step();
      if (!this.isArchived()) await this.rest();
    }
  }

  async *readOnce(): Items {
    const record = await this.source.readRecord();
    if (!hasStopped(record.status)) return yield { type: 'state', conversation: record };
    yield* this.deliverStoredIfReadable();
    yield { type: 'state', conversation: await this.source.complete(record, 'once') };
  }

  private isArchived(): boolean {
    return this.delivered?.status === 'archived';
  }

  private async *begin(): AsyncGenerator<FollowItem, Conversation, void> {
    for (;;) {
      this.signal.throwIfAborted();
      try {
        const first = await this.source.readRecord();
        if (endOfStatus(first.status) === null) await this.connect();
        yield* this.deliverStored();
        this.recovered();
        return first;
      } catch (error) {
        this.failed(error);
      }
      this.closeSocket();
      yield* this.reportOutage();
      await this.rest();
    }
  }

  private async *step(): Items {
    try {
      if (this.socket === null) yield* this.reconnect();
      else yield* this.checkSocket();
      const isReported = this.reported !== null;
      if (isReported || this.clock.now() >= this.readRecordAtMs) {
        yield* this.deliverRecord(await this.freshRecord(), isReported);
        this.recovered();
      }
    } catch (error) {
      this.failed(error);
    }
    yield* this.reportOutage();
  }

  private async *reconnect(): Items {
    if (this.clock.now() < this.connectAtMs) return;
    const record = await this.source.readRecord();
    if (REFUSALS.has(this.closeCode)) await this.source.confirmRefusal?.();
    await this.connect();
    yield* this.deliverStored();
    if (this.reported === null) yield* this.deliverRecord(record);
    this.recovered();
  }

  /** Reads what a silent socket should have delivered; one that missed an event is dead. */
  private async *checkSocket(): Items {
    const now = this.clock.now();
    if (now - this.frameAtMs < FOLLOW_MS.silentSocket) return;
    this.frameAtMs = now;
    const { lastId } = this.window;
    yield* this.deliverStored();
    if (this.window.lastId === lastId || this.socket === null) return;
    this.closeSocket();
    this.connectAtMs = this.clock.now();
  }

  private *reportOutage(): Generator<FollowItem, void, void> {
    if (this.outage === null || this.isOutageReported) return;
    const { sinceMs, error } = this.outage;
    if (this.clock.now() - sinceMs < FOLLOW_MS.silentCut) return;
    this.isOutageReported = true;
    const problem =
      error.kind === 'network' ? 'connection lost; reconnecting' : `${error.message}; trying again`;
    yield { type: 'notice', text: `${problem}, and missed events will be shown` };
  }

  private recovered(): void {
    this.outage = null;
    this.isOutageReported = false;
  }

  /** A cut connection or a restart passes; a refusal or a deleted conversation does not. */
  private failed(error: unknown): void {
    if (!isPassing(error)) throw error;
    const now = this.clock.now();
    const { sinceMs = now, failures = 0 } = this.outage ?? {};
    if (now - sinceMs >= FOLLOW_MS.longestCut) throw error;
    this.outage = { sinceMs, failures: failures + 1, error };
    this.connectAtMs = this.readRecordAtMs = now + backoffMs(failures + 1);
  }

  /** Before the stored events are read: no event falls between. */
  private async connect(): Promise<void> {
    this.socket = await this.source.openSocket();
    const now = this.clock.now();
    this.openedAtMs = this.frameAtMs = now;
    this.closeCode = null;
    this.connectAtMs = now + this.readingMs(now);
  }

  private readingMs(now: number): number {
    const { reading, afterEvent = reading } = this.source.pollMs;
    return Math.min(reading, Math.max(afterEvent, (now - this.eventAtMs) / 5));
  }

  private receive(now: number): void {
    if (this.socket === null) return;
    const taken = this.socket.take();
    const { closed } = this.socket;
    for (const event of taken) {
      // Within a millisecond the texts, of microseconds, decide. An unreadable time is before none.
      const ms = parseTime(event.timestamp) ?? Infinity;
      const index = this.frames.findLastIndex(({ event: { timestamp } }) => {
        const otherMs = parseTime(timestamp) ?? -Infinity;
        return ms > otherMs || (ms === otherMs && String(event.timestamp) >= String(timestamp));
      });
      this.frames.splice(index + 1, 0, { event, receivedAtMs: now });
    }
    if (taken.length > 0) this.frameAtMs = now;
    if (taken.some(({ id, event }) => event !== null && !this.window.has(id)))
      this.openedAtMs = -Infinity;
    if (closed === null) return;
    this.socket = null;
    this.closeCode = closed.code;
    this.refused = now - this.openedAtMs < FOLLOW_MS.stableSocket ? this.refused + 1 : 0;
    this.connectAtMs = this.readRecordAtMs = now + (this.refused < 2 ? 0 : backoffMs(this.refused));
  }

  private *deliverReceivedBy(ms: number): Generator<FollowItem, void, void> {
    const last = this.frames.findLastIndex(({ receivedAtMs }) => receivedAtMs <= ms);
    for (const { event } of this.frames.splice(0, last + 1)) yield* this.deliver(event);
  }

  /**
   * After a cut the stored events come first: some may be older than the frames. So may the action
   * of a frame: a sandbox sends the event that fills the buffer of its webhook only when the
   * webhook has answered, which may take longer than a frame is kept (seen on 1.6.0).
   */
  private async *deliverFrames(): Items {
    const now = this.clock.now();
    this.receive(now);
    if (this.socket === null) return;
    const dueMs = now - FOLLOW_MS.frameKept;
    if (this.lacksAction(dueMs)) yield* this.deliverStoredIfReadable();
    yield* this.deliverReceivedBy(dueMs);
  }

  private lacksAction(receivedByMs: number): boolean {
    const due = this.frames.filter(({ receivedAtMs }) => receivedAtMs <= receivedByMs);
    const ids = new Set(due.map(({ event }) => event.id));
    return due.some(
      ({ event: { action_id } }) => action_id && !ids.has(action_id) && !this.window.has(action_id),
    );
  }

  private async *deliverStoredIfReadable(): Items {
    try {
      yield* this.deliverStored();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
  }

  private async *deliverStored(): Items {
    const startMs = this.clock.now();
    this.receive(startMs);
    for await (const event of this.source.readEvents(this.window)) {
      this.signal.throwIfAborted();
      yield* this.deliver(event);
    }
    // What is older than a frame from before the read was stored, and has been delivered.
    yield* this.deliverReceivedBy(startMs);
    yield* this.deliverFrames();
  }

  private *deliver({
    id,
    timestamp,
    event,
    execution_status,
    partial,
  }: SourceEvent): Generator<FollowItem, void, void> {
    if (this.window.has(id)) return;
    this.window.add(id, timestamp);
    this.eventAtMs = this.clock.now();
    this.connectAtMs = Math.min(this.connectAtMs, this.eventAtMs + this.readingMs(this.eventAtMs));
    if (execution_status !== null) this.reported = execution_status;
    if (this.skipTo !== null) {
      if (id === this.skipTo) this.skipTo = null;
      return;
    }
    if (event !== null) yield { type: 'event', event: event() };
    if (partial != null) yield { type: 'partial', text: partial };
  }

  /** `record`: was read before the events were; it is read again where one contradicts it. */
  private async freshRecord(record: Conversation | null = null): Promise<Conversation> {
    const { clock, signal, reported, source } = this;
    this.reported = null;
    if (record !== null && [null, record.execution_status].includes(reported)) return record;
    let endsAtMs: number | null = null;
    const readFresh = async (): Promise<Conversation | undefined> => {
      const newest = await source.readRecord();
      const status = newest.execution_status;
      const isOlder = reported !== null && status !== null && status !== reported;
      const isLast = endsAtMs !== null && clock.now() >= endsAtMs;
      // A slow server gets a second read too.
      endsAtMs ??= clock.now() + STALE_RECORD.forMs;
      return isOlder && !isLast ? undefined : newest;
    };
    return await poll(readFresh, { clock, signal, every: STALE_RECORD, outageMs: 0 });
  }

  private async *deliverRecord(conversation: Conversation, isReported = false): Items {
    const now = this.clock.now();
    this.readRecordAtMs = now + this.source.pollMs.listening;
    if (conversation.may_recover) {
      this.readRecordAtMs = now + FOLLOW_MS.recovery;
      return;
    }
    const isEnd = endOfStatus(conversation.status) !== null;
    // A short run may begin and end between two reads: its end is delivered again.
    const isAgain = () => this.request.isPending || (isReported && isEnd);
    if (!isAgain() && !this.isChanged(conversation)) return;
    let state = conversation;
    if (isEnd) {
      yield* this.deliverStored();
      if ((await this.source.catchUp?.(conversation)) === 'read-again') yield* this.deliverStored();
      // The event of this end may have come only with this read.
      if (this.reported === conversation.execution_status) this.reported = null;
      state = await this.source.complete(conversation);
    }
    if (!isAgain() && !this.isChanged(state)) return;
    this.request.isPending = false;
    this.delivered = state;
    yield { type: 'state', conversation: state };
  }

  /** The delivered record was completed from the events: what another one lacks is no change. */
  private isChanged(record: Conversation): boolean {
    const before = this.delivered;
    if (before === null) return true;
    const { execution_status, sandbox_status, status, reason } = record;
    const compared = ['execution_status', 'sandbox_status', 'title'] as const;
    if (compared.some((name) => before[name] !== record[name])) return true;
    if (status === 'running' && before.reason?.code !== reason?.code) return true;
    const isSandboxDown = execution_status === null && ![null, 'running'].includes(sandbox_status);
    return !isSandboxDown && before.status !== status;
  }

  private async rest(): Promise<void> {
    const { clock, socket } = this;
    this.signal.throwIfAborted();
    // One listener for the whole run: the parents of a signal would keep one for each wait.
    const woken = new Promise<void>((resolve) => (this.wake = resolve));
    const awaited = [woken];
    const now = clock.now();
    let readAtMs = this.readRecordAtMs;
    let frameDueMs = Infinity;
    if (socket === null) {
      readAtMs = Math.min(readAtMs, this.connectAtMs);
    } else {
      awaited.push(socket.activity());
      const received = this.frames.map(({ receivedAtMs }) => receivedAtMs);
      frameDueMs = Math.min(...received) + FOLLOW_MS.frameKept;
    }
    const restMs = Math.max(readAtMs - now, FOLLOW_MS.shortestRest);
    await beforeTime({ clock }, Math.min(restMs, frameDueMs - now), awaited);
    // On a busy machine older frames may have arrived that are not yet read.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function backoffMs(failures: number): number {
  return Math.min(250 * 2 ** failures, FOLLOW_MS.longestBackoff);
}
