import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';

const RETRY_MS = 20;
/** A holder works for milliseconds; one that has not moved for this long has died. */
const STALE_MS = 4000;
const GIVE_UP_MS = 20_000;

/**
 * Runs the work while no other process of acs does. A lock file left by a process that died is taken over once it has
 * stayed the same for four seconds of waiting, so neither clocks nor process ids are compared.
 * Throws `config` when others hold it for twenty seconds, and the file system's error when the folder cannot be written.
 */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const token = randomUUID();
  await take(file, token);
  try {
    return await work();
  } finally {
    if ((await holderOf(file)) === token) await rm(file, { force: true });
  }
}

async function take(file: string, token: string): Promise<void> {
  let seen: string | null = null;
  let unchangedMs = 0;
  for (let waitedMs = 0; waitedMs < GIVE_UP_MS; waitedMs += RETRY_MS) {
    if (await create(file, token)) return;
    const holder = await holderOf(file);
    unchangedMs = holder === seen ? unchangedMs + RETRY_MS : 0;
    seen = holder;
    if (holder !== null && unchangedMs >= STALE_MS) {
      await clear(file, holder);
      unchangedMs = 0;
    }
    await delay(RETRY_MS);
  }
  throw new AppError('config', `another acs process holds the lock ${file}`, {
    hint: 'if no other acs is running, delete the file',
    retryable: true,
  });
}

async function create(file: string, token: string): Promise<boolean> {
  try {
    await writeFile(file, token, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Moved away before it is deleted, so that of two waiters only one clears, and a lock taken meanwhile goes back. */
async function clear(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    if ((await holderOf(aside)) === stale) await rm(aside, { force: true });
    else await rename(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function holderOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return null;
  }
}
