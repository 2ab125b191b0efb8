/** The socket of a follower: its frames in order, whether it is silent, and when another one may be opened. */
import type { FollowSocket, FollowWindow, Sighting } from './follow-source.ts';
import { FrameOrder } from './frame-order.ts';

const CONNECTION_MS = {
  longestBackoff: 5_000,
  /** A socket that was open for less, and has delivered no event, was refused rather than cut: the next one waits. */
  stable: 10_000,
  /** A socket that is silent for so long may be dead without a close: the stored events show it. */
  quiet: 30_000,
} as const;

/** Close codes of an agent server that refuses a key, and of one that does not have the conversation. */
const REFUSALS: ReadonlySet<number | null> = new Set([4001, 4004]);

export class Connection {
  private socket: FollowSocket | null = null;
  private readonly frames = new FrameOrder();
  private openedAtMs = 0;
  private frameAtMs = 0;
  private quickCuts = 0;
  private closeCode: number | null = null;

  get isOpen(): boolean {
    return this.socket !== null;
  }

  /** The last socket was closed as one that the server refuses. */
  get wasRefused(): boolean {
    return REFUSALS.has(this.closeCode);
  }

  opened(socket: FollowSocket | null, nowMs: number): void {
    this.socket = socket;
    this.openedAtMs = this.frameAtMs = nowMs;
    this.closeCode = null;
  }

  close(): void {
    this.socket?.close();
    this.socket = null;
  }

  isQuiet(nowMs: number): boolean {
    return nowMs - this.frameAtMs >= CONNECTION_MS.quiet;
  }

  /** The silence begins anew. */
  wasChecked(nowMs: number): void {
    this.frameAtMs = nowMs;
  }

  /**
   * Takes what the socket has received.
   * @returns after how long another socket may be opened, when this one is closed; else null
   */
  receive(window: FollowWindow, nowMs: number): number | null {
    if (this.socket === null) return null;
    const sightings = this.socket.take();
    if (sightings.length > 0) this.frameAtMs = nowMs;
    this.frames.add(sightings, nowMs);
    const { closed } = this.socket;
    const hasDelivered = sightings.some(({ id, event }) => event !== null && !window.has(id));
    if (hasDelivered) this.openedAtMs = Number.NEGATIVE_INFINITY;
    if (closed === null) return null;
    this.socket = null;
    this.closeCode = closed.code;
    this.quickCuts = nowMs - this.openedAtMs < CONNECTION_MS.stable ? this.quickCuts + 1 : 0;
    return this.quickCuts < 2 ? 0 : backoffMs(this.quickCuts);
  }

  /**
   * Frames that no older one can follow. After a cut there are none until the stored events have been read: those that
   * the cut has lost may be older.
   */
  due(nowMs: number): Sighting[] {
    return this.isOpen ? this.frames.receivedBy(nowMs - FrameOrder.keptMs) : [];
  }

  /** Frames that were received before a read of the stored events: what is older was stored, and has been delivered. */
  receivedBy(ms: number): Sighting[] {
    return this.frames.receivedBy(ms);
  }

  /** When `due` has a frame next; Infinity: no frame is kept. */
  get dueMs(): number {
    return this.isOpen ? this.frames.dueMs : Number.POSITIVE_INFINITY;
  }

  /** Resolves when there are frames, or the socket is closed. */
  activity(): Promise<void>[] {
    return this.socket === null ? [] : [this.socket.activity()];
  }
}

export function backoffMs(failures: number): number {
  return Math.min(250 * 2 ** failures, CONNECTION_MS.longestBackoff);
}
