/** Caches of package managers: a folder for each repository, in `caches` of the data directory. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Mount } from '../base/worker-protocol.ts';
import { CACHE_INSIDE } from '../isolation/bubblewrap.ts';
import { removeTree } from './folders.ts';

const OLDEST_MS = 30 * 24 * 3_600_000;
const LARGEST_BYTES = 10 * 1024 ** 3;
const MEASURED_MS = 60_000;

/** An agent writes there: no other repository has it. `repository`: without credentials. */
export function cacheMount(repository: string, provider: string | null): Mount {
  const key = createHash('sha256')
    .update(JSON.stringify([provider, repository]))
    .digest('hex');
  return { source: `caches/${key.slice(0, 32)}`, target: CACHE_INSIDE, mode: 'writable' };
}

/** Makes the folder of a cache, whose time is that of its last use. */
export function useCache(folder: string, nowMs: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  utimesSync(folder, nowMs / 1000, nowMs / 1000);
}

/** Removes those not used for 30 days, and the longest unused until the rest has 10 GiB. */
export async function removeOldCaches(
  dir: string,
  now: number,
  isUsed: (name: string) => boolean,
): Promise<void> {
  const caches = (existsSync(dir) ? readdirSync(dir) : [])
    .map((name) => ({ name, folder: path.join(dir, name) }))
    .map((cache) => ({ ...cache, usedAt: statSync(cache.folder).mtimeMs }))
    .sort((a, b) => b.usedAt - a.usedAt);
  let bytes = 0;
  for (const { name, folder, usedAt } of caches) {
    bytes += await sizeOf(folder);
    const isOld = now - usedAt > OLDEST_MS || bytes > LARGEST_BYTES || name.endsWith('.old');
    if (!isOld || isUsed(name)) continue;
    // No sandbox that starts now uses what is being removed.
    const aside = `${folder.replace(/\.old$/, '')}.old`;
    renameSync(folder, aside);
    await removeTree(aside);
  }
}

/** A folder that cannot be measured in time is too large. */
async function sizeOf(folder: string): Promise<number> {
  const options = { timeout: MEASURED_MS };
  const { stdout } = await promisify(execFile)('du', ['-sk', '--', folder], options).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  const kibibytes = parseInt(stdout, 10);
  return Number.isNaN(kibibytes) ? LARGEST_BYTES : kibibytes * 1024;
}
