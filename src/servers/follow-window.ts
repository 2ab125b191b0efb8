/** Which events a follower has seen: enough to tell a repeated one, never all of them. */
import { parseTime } from '../text/time.ts';

const MOST_IDS = 20_000;
/** An event may be stored a little after one that is younger; reading starts this much before the newest. */
const OVERLAP_MS = 2_000;

export interface FollowWindow {
  /** False when this event was seen before. */
  isNew(id: string, timestamp: string | null): boolean;
  /** From where to read again, milliseconds since the epoch, so much before the newest; null: from the start. */
  sinceMs(overlapMs?: number): number | null;
  readonly lastId: string | null;
}

export function createFollowWindow(startMs: number | null): FollowWindow {
  const ids = new Set<string>();
  let newestMs: number | null = null;
  let lastId: string | null = null;
  return {
    isNew(id, timestamp) {
      if (ids.has(id)) return false;
      ids.add(id);
      if (ids.size > MOST_IDS)
        for (const oldest of ids) {
          ids.delete(oldest);
          break;
        }
      lastId = id;
      const ms = parseTime(timestamp);
      if (ms !== null && (newestMs === null || ms > newestMs)) newestMs = ms;
      return true;
    },
    sinceMs: (overlapMs = OVERLAP_MS) => (newestMs === null ? startMs : Math.max(newestMs - overlapMs, startMs ?? 0)),
    get lastId() {
      return lastId;
    },
  };
}
