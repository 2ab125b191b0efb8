/** One small file (0600) for each value. Unreadable or corrupt is the same as absent. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';

export interface ServerCache {
  probe: {
    get(origin: string): Promise<unknown>;
    set(origin: string, value: unknown): Promise<void>;
    drop(origin: string): Promise<void>;
  };
  last: {
    get(origin: string): Promise<string | null>;
    set(origin: string, id: string | null): Promise<void>;
  };
}

interface Entry {
  origin: string;
  value: unknown;
}

export function openServerCache(options: { configDir: string }): ServerCache {
  const dir = path.join(options.configDir, 'cache');
  // An origin is not a file name; one that is too long for one is not remembered.
  const fileOf = (kind: string, origin: string) =>
    path.join(dir, `${kind}-${encodeURIComponent(origin)}.json`);
  const get = (kind: string, origin: string): unknown => {
    const entry = readEntry(fileOf(kind, origin));
    return entry?.origin === origin ? entry.value : null;
  };
  return {
    probe: {
      get: (origin) => Promise.resolve(get('probe', origin)),
      set: (origin, value) => writeEntry(fileOf('probe', origin), { origin, value }),
      drop: (origin) => rm(fileOf('probe', origin), { force: true }).catch(() => undefined),
    },
    last: {
      get(origin) {
        const id = get('last', origin);
        return Promise.resolve(
          typeof id === 'string' && /^[A-Za-z0-9-]{1,64}$/.test(id) ? id : null,
        );
      },
      set: (origin, id) => writeEntry(fileOf('last', origin), { origin, value: id }),
    },
  };
}

/** Synchronous: the threads for reading a file take 5 ms to start. */
function readEntry(file: string): Entry | null {
  try {
    const entry = JSON.parse(readFileSync(file, 'utf8')) as Partial<Entry> | null;
    return typeof entry?.origin === 'string'
      ? { origin: entry.origin, value: entry.value ?? null }
      : null;
  } catch {
    return null;
  }
}

async function writeEntry(file: string, entry: Entry): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  try {
    makeFolder(path.dirname(file), 0o700);
    await writeFile(temporary, JSON.stringify(entry), { flag: 'wx', mode: 0o600 });
    await rename(temporary, file);
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}
