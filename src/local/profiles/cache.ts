/** One small file for each value. What cannot be read or written is the same as absent. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import { readSmallRecord, writeSmallFile } from '../../base/small-file.ts';

/** `probe`: what the probe of a server found; `last`: the id of the last conversation there. */
export function openServerCache(kind: 'probe' | 'last', configDir: string) {
  const dir = path.join(configDir, 'cache');
  // An origin is not a file name; one that is too long for one is not remembered.
  const fileOf = (origin: string) => path.join(dir, `${kind}-${encodeURIComponent(origin)}.json`);
  const tried = (work: () => void) => {
    try {
      work();
    } catch {
      // The value is determined again.
    }
  };
  return {
    get(origin: string): unknown {
      const entry = readSmallRecord(fileOf(origin));
      return entry?.origin === origin ? (entry.value ?? null) : null;
    },
    set: (origin: string, value: unknown) =>
      tried(() => {
        makeFolder(dir, 0o700);
        writeSmallFile(fileOf(origin), JSON.stringify({ origin, value }));
      }),
    drop: (origin: string) => tried(() => rmSync(fileOf(origin), { force: true })),
  };
}
