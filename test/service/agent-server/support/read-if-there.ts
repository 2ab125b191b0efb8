import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { OwnWorker } from './worker.ts';

/** The text of a file in the workspace; null when there is none. */
export function readIfThere(worker: OwnWorker, name: string): string | null {
  try {
    return readFileSync(path.join(worker.place.workspace, name), 'utf8');
  } catch {
    return null;
  }
}
