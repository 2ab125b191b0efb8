import type { RawData } from 'ws';
import { isTooDeep } from '../../protocol/detail.ts';

/** A frame's JSON; undefined when it is none or nested too deeply. */
export function parseFrame(data: RawData): unknown {
  try {
    const value: unknown = JSON.parse((data as Buffer).toString('utf8'));
    return isTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}
