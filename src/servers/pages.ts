/** Paging: through to the end, and with an error where a list has none. */
import { createPageCheck } from '../domain/page-check.ts';
import type { Page } from './server.ts';

/**
 * All items of all pages, lazily. Throws AppError `server` for a list without an end: see createPageCheck.
 * @param idOf what makes two items the same
 */
export async function* allPages<T>(
  idOf: (item: T) => string,
  fetchPage: (page: string | null) => Promise<Page<T>>,
): AsyncGenerator<T, void, void> {
  const check = createPageCheck();
  let page: string | null = null;
  do {
    const { items, next }: Page<T> = await fetchPage(page);
    yield* items;
    check(items.map(idOf), next);
    page = next;
  } while (page !== null);
}

/** What most records are told apart by. */
export const byId = ({ id }: { id: string }): string => id;

/** Calls `fetch` with at most `size` ids at a time and puts the answers together in order. */
export async function inSlices<T>(
  ids: readonly string[],
  size: number,
  fetch: (ids: string[]) => Promise<T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let start = 0; start < ids.length; start += size) all.push(...(await fetch(ids.slice(start, start + size))));
  return all;
}
