/** Paging: through to the end, and with an error where a list has none. */
import { createPageCheck } from '../domain/page-check.ts';
import type { Page } from './server.ts';

/** The items of all pages, lazily: see eachPage. */
export async function* allPages<T>(
  idOf: (item: T) => string,
  fetchPage: (page: string | null) => Promise<Page<T>>,
): AsyncGenerator<T, void, void> {
  for await (const items of eachPage(idOf, fetchPage)) yield* items;
}

/**
 * The items of each page, lazily. Throws AppError `server` for a list without an end: see createPageCheck.
 * @param idOf what makes two items the same
 * @param ahead `next`: whoever took the whole first page reads on, so from the second page on the next one is requested
 * while the items of the present one are used. A failure of that request is thrown after those items.
 */
export async function* eachPage<T>(
  idOf: (item: T) => string,
  fetchPage: (page: string | null) => Promise<Page<T>>,
  ahead: 'none' | 'next' = 'none',
): AsyncGenerator<T[], void, void> {
  const check = createPageCheck();
  const following = async ({ items, next }: Page<T>): Promise<Page<T> | null> => {
    check(items.map(idOf), next);
    return next === null ? null : await fetchPage(next);
  };
  let page: Page<T> | null = await fetchPage(null);
  for (let isFirst = true; page !== null; isFirst = false) {
    const requested: Promise<Page<T> | null> | null = isFirst || ahead === 'none' ? null : following(page);
    requested?.catch(() => undefined); // thrown below, unless the reader stops before
    yield page.items;
    page = await (requested ?? following(page));
  }
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
