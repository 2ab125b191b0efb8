/** What has ended long ago at the local service: conversations with their events, and sandboxes left alone. */
import { AppError, isAppError } from '../errors.ts';
import type { Page, Server } from '../servers/server.ts';
import type { OldThing, OldThings } from '../service-control.ts';

const AT_WORK = new Set<string>(['starting', 'running', 'waiting']);
const MOST_PAGES = 10_000;

/** @param before milliseconds since the epoch; what was touched later stays */
export async function findOld(server: Server, before: number): Promise<OldThings> {
  const isOld = (time: string | null) => time !== null && Date.parse(time) < before;
  const all = await everyPage((page) => server.conversations.list({}, page));
  const ended = all.filter(({ status, updated_at, created_at }) => {
    return !AT_WORK.has(status) && isOld(updated_at ?? created_at);
  });
  // A sandbox goes with the last conversation in it; what is left over was started by hand.
  const inUse = new Set(all.map((one) => one.sandbox_id));
  const sandboxes = await everyPage((page) => server.sandboxes.list(page)).catch(noneOverV0);
  const alone = sandboxes.filter(
    ({ id, last_active_at, created_at }) => !inUse.has(id) && isOld(last_active_at ?? created_at),
  );
  return {
    conversations: ended.map(({ id }) => thing(id, () => server.conversations.remove(id))),
    sandboxes: alone.map(({ id }) => thing(id, () => server.sandboxes.remove(id))),
  };
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

/** A service of V0 alone has sandboxes too, but nobody can start one by hand there. */
function noneOverV0(error: unknown): never[] {
  if (isAppError(error) && error.kind === 'unsupported') return [];
  throw error;
}

/** Already deleted is as good as deleted. */
function thing(id: string, remove: () => Promise<void>): OldThing {
  const gone = (error: unknown) => {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  };
  return { id, remove: () => remove().catch(gone) };
}
