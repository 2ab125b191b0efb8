/** The one reader of lists that servers give page by page: lazily, bounded, and with an error for a list without an end. */
import { AppError } from '../errors.ts';
import type { IdSet } from './seen-ids.ts';

export interface Page<T> {
  items: T[];
  /** Opaque; null on the last page. */
  next: string | null;
  /** The server has more than it lists, and no page for it. */
  isCut?: boolean;
}

type FetchPage<T> = (page: string | null) => Promise<Page<T>>;

/** More is refused by servers (interface 4.3, 5.3). */
const PAGE_SIZE_MAX = 100;
/** Some servers drop items after paging (interface 3.2), so a page may be empty and not the last one. */
const MOST_EMPTY_PAGES = 1_000;
/**
 * A page has only items that came before when as many were added at the beginning of the list meanwhile. V0's list of a
 * server with both dialects begins again with the conversations of one dialect when it has listed them (seen on 1.6.0).
 */
const MOST_KNOWN_PAGES = 100;

/** The items of all pages, lazily: see eachPage. */
export async function* allPages<T>(idOf: (item: T) => string, fetchPage: FetchPage<T>): AsyncGenerator<T, void, void> {
  for await (const items of eachPage(idOf, fetchPage)) yield* items;
}

export interface PageOptions {
  /**
   * `next`: from the second page on, the next page is requested while the items of the present one are used. A failure of
   * that request is thrown after those items.
   */
  ahead?: 'none' | 'next';
  /** Ids that count as known; those of the list are added. */
  known?: IdSet;
}

/**
 * The items of each page, lazily, each item once. Throws AppError `server` for a list without an end: when a page id comes
 * a second time, and after too many pages in a row that are empty or have only items that came before.
 * @param idOf what makes two items the same; an item with an empty id is never a duplicate
 */
export async function* eachPage<T>(
  idOf: (item: T) => string,
  fetchPage: FetchPage<T>,
  { ahead = 'none', known = new Set() }: PageOptions = {},
): AsyncGenerator<T[], void, void> {
  const check = createEndCheck();
  const following = async (page: Page<T>, news: number): Promise<Page<T> | null> => {
    if (page.next === null) return null;
    check(page.items.length, news, page.next);
    return await fetchPage(page.next);
  };
  let page: Page<T> | null = await fetchPage(null);
  for (let isFirst = true; page !== null; isFirst = false) {
    const items: T[] = page.items.filter((item) => addNew(known, idOf(item)));
    const requested: Promise<Page<T> | null> | null =
      isFirst || ahead === 'none' ? null : following(page, items.length);
    requested?.catch(() => undefined); // thrown below, unless the reader stops before
    yield items;
    page = await (requested ?? following(page, items.length));
  }
}

/** Adds an id; false where it was known. One search of the set for both: a long list makes it the larger part of a page. */
function addNew(known: IdSet, id: string): boolean {
  const before = known.size;
  return id === '' || known.add(id).size > before;
}

/** The key of most records. */
export const byId = ({ id }: { id: string }): string => id;

export interface PageSource<T> {
  fetch(page: string | null, pageSize: number): Promise<Page<T>>;
  /** What makes two items the same; an item with an empty id is never a duplicate. */
  id(item: NoInfer<T>): string;
  /** Applied before the limit counts. */
  filter?: (item: T) => boolean;
  /** Without it all items are read. */
  limit?: number;
}

/** Reads pages until one item more than the limit is found, which shows for certain whether there are more. */
export async function collectPages<T>({
  fetch,
  id,
  filter,
  limit = Number.POSITIVE_INFINITY,
}: PageSource<T>): Promise<{ items: T[]; has_more: boolean }> {
  const items: T[] = [];
  const pageSize = filter ? PAGE_SIZE_MAX : Math.min(PAGE_SIZE_MAX, limit + 1);
  let isCut = false;
  const fetchPage = async (next: string | null): Promise<Page<T>> => {
    const page = await fetch(next, pageSize);
    isCut ||= page.isCut === true;
    return page;
  };
  for await (const page of eachPage(id, fetchPage)) {
    for (const item of page) {
      if (filter && !filter(item)) continue;
      if (items.length === limit) return { items, has_more: true };
      items.push(item);
    }
  }
  return { items, has_more: isCut };
}

/** A check that is called with each page of one list but the last, in order: how many items it has, and how many are new. */
function createEndCheck(): (items: number, news: number, next: string) => void {
  const pages = new Set<string>();
  let emptyPages = 0;
  let knownPages = 0;
  return (items, news, next) => {
    emptyPages = items === 0 ? emptyPages + 1 : 0;
    knownPages = items > 0 && news === 0 ? knownPages + 1 : 0;
    if (knownPages > MOST_KNOWN_PAGES || emptyPages > MOST_EMPTY_PAGES) throw endless('sends pages without new items');
    if (pages.has(next)) throw endless(`repeats the page ${next.slice(0, 60)}`);
    pages.add(next);
  };
}

function endless(what: string): AppError {
  return new AppError('server', `the server ${what}: the list has no end`, {
    hint: 'the result is incomplete; limit it with --limit',
  });
}
