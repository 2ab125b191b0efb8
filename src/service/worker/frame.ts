import type { RawData } from 'ws';

/** A frame's JSON; undefined when it is none. */
export function parseFrame(data: RawData): unknown {
  try {
    return JSON.parse((data as Buffer).toString('utf8'));
  } catch {
    return undefined;
  }
}
