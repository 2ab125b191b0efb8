/** Deletes what has ended long ago at the local service: conversations with their events, and sandboxes left alone. */
import { AppError, isAppError } from '../errors.ts';
import type { Page, Server } from '../servers/server.ts';

const AT_WORK = new Set<string>(['starting', 'running', 'waiting']);
const MOST_PAGES = 10_000;

/** @param before milliseconds since the epoch; what was touched later stays */
export async function prune(server: Server, before: number): Promise<{ conversations: number; sandboxes: number }> {
  const isOld = (time: string | null) => time !== null && Date.parse(time) < before;
  const conversations = await everyPage((page) => server.conversations.list({}, page));
  const ended = conversations.filter(({ status, updated_at, created_at }) => {
    return !AT_WORK.has(status) && isOld(updated_at ?? created_at);
  });
  for (const { id } of ended) await gone(server.conversations.remove(id));
  // A sandbox goes with the last conversation in it; what is left over was started by hand.
  const inUse = new Set(conversations.filter((one) => !ended.includes(one)).map((one) => one.sandbox_id));
  const sandboxes = await everyPage((page) => server.sandboxes.list(page));
  const alone = sandboxes.filter(({ id, created_at }) => !inUse.has(id) && isOld(created_at));
  for (const { id } of alone) await gone(server.sandboxes.remove(id));
  return { conversations: ended.length, sandboxes: alone.length };
}

async function everyPage<T>(fetch: (page: string | null) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let page: string | null = null;
  for (let read = 0; read < MOST_PAGES; read++) {
    const { items: more, next }: Page<T> = await fetch(page);
    items.push(...more);
    if (next === null) return items;
    page = next;
  }
  throw new AppError('server', 'the list of the local service has no end');
}

/** Already deleted is as good as deleted. */
async function gone(removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  });
}
