/** Puts the frames of a socket into the order of their times before they are delivered. */
import type { Sighting } from './follow-source.ts';
import { parseTime } from '../text/time.ts';

interface Kept {
  sighting: Sighting;
  time: FrameTime | null;
  arrivedMs: number;
}

/** Servers write microseconds: within a millisecond the texts decide. */
interface FrameTime {
  ms: number;
  text: string;
}

export class FrameOrder {
  /**
   * How long a frame is kept for an older one that it has overtaken in a proxy, or in a server with several writers.
   * Frames have no number, so that a gap cannot be seen.
   */
  static readonly keptMs = 20;

  /** By time; frames of the same time as they came. */
  private kept: Kept[] = [];

  /** When the next frame is due; Infinity: there is none. */
  get dueMs(): number {
    return this.kept.reduce(
      (least, { arrivedMs }) => Math.min(least, arrivedMs + FrameOrder.keptMs),
      Number.POSITIVE_INFINITY,
    );
  }

  add(sightings: readonly Sighting[], nowMs: number): void {
    for (const sighting of sightings) {
      const frame = { sighting, time: timeOf(sighting), arrivedMs: nowMs };
      const place = this.kept.findLastIndex((other) => !isBefore(frame.time, other.time)) + 1;
      this.kept.splice(place, 0, frame);
    }
  }

  /** Takes the frames that had been received by then, and all that are older than these. */
  receivedBy(ms: number): Sighting[] {
    const last = this.kept.findLastIndex(({ arrivedMs }) => arrivedMs <= ms);
    return this.kept.splice(0, last + 1).map(({ sighting }) => sighting);
  }
}

function timeOf({ timestamp }: Sighting): FrameTime | null {
  const ms = parseTime(timestamp);
  return ms === null ? null : { ms, text: String(timestamp) };
}

function isBefore(one: FrameTime | null, other: FrameTime | null): boolean {
  if (one === null || other === null) return false;
  const ms = one.ms - other.ms;
  return ms < 0 || (ms === 0 && one.text < other.text);
}
