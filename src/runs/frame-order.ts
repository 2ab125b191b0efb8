/** Puts the frames of a socket into the order of their times before they are delivered. */
import type { Sighting } from './follow-source.ts';
import { parseTime } from '../text/time.ts';

interface Kept {
  sighting: Sighting;
  timeMs: number | null;
  arrivedMs: number;
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
      const frame = { sighting, timeMs: parseTime(sighting.timestamp), arrivedMs: nowMs };
      let place = this.kept.length;
      while (place > 0 && isBefore(frame, this.kept[place - 1])) place -= 1;
      this.kept.splice(place, 0, frame);
    }
  }

  /** Takes the frames that had been received by then, and all that are older than these. */
  receivedBy(ms: number): Sighting[] {
    const last = this.kept.findLastIndex(({ arrivedMs }) => arrivedMs <= ms);
    return this.kept.splice(0, last + 1).map(({ sighting }) => sighting);
  }
}

/** The texts decide within a millisecond: servers write microseconds. */
function isBefore(one: Kept, other: Kept | undefined): boolean {
  if (other === undefined || one.timeMs === null || other.timeMs === null) return false;
  if (one.timeMs !== other.timeMs) return one.timeMs < other.timeMs;
  return (one.sighting.timestamp ?? '') < (other.sighting.timestamp ?? '');
}
