/** Paging: through to the end, never twice the same page, never for ever. */
import { AppError } from '../errors.ts';
import type { Page } from './server.ts';

/** All items of all pages, lazily. Throws AppError `server` when a page id comes back: such a list has no end. */
export async function* allPages<T>(
  fetchPage: (page: string | null) => Promise<Page<T>>,
): AsyncGenerator<T, void, void> {
  const seen = new Set<string>();
  let page: string | null = null;
  for (;;) {
    const { items, next }: Page<T> = await fetchPage(page);
    yield* items;
    if (next === null) return;
    if (seen.has(next)) {
      throw new AppError('server', `the server gives the page ${next.slice(0, 60)} again and again`, {
        hint: 'the list is not complete; ask for fewer items with --limit',
      });
    }
    seen.add(next);
    page = next;
  }
}

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
