import { AppError } from '../base/errors.ts';
import { cut } from '../base/text/well-formed.ts';

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
/** Servers drop items after paging (interface 3.2), and V0 of 1.6.0 lists some again. */
const MOST_PAGES_WITHOUT_NEWS = { empty: 1_000, known: 100 };

export async function* eachItem<T>(
  pages: AsyncIterable<readonly T[]>,
): AsyncGenerator<T, void, void> {
  for await (const page of pages) yield* page;
}

export function allPages<T>(
  idOf: (item: T) => string,
  fetchPage: FetchPage<T>,
): AsyncGenerator<T, void, void> {
  return eachItem(eachPage(idOf, fetchPage));
}

/** Each item once; an empty id is never a duplicate. Throws `server` for a list without end. */
export async function* eachPage<T>(
  idOf: (item: T) => string,
  fetchPage: FetchPage<T>,
  {
    ahead = 'none',
    known = new Set(),
  }: {
    /** A failure of the request ahead is thrown after the items of the present page. */
    ahead?: 'none' | 'next';
    /** Ids that count as known; those of the list are added. */
    known?: Set<string>;
  } = {},
): AsyncGenerator<T[], void, void> {
  const pages = new Set<string>();
  const without = { empty: 0, known: 0 };
  const following = async ({ items, next }: Page<T>, news: number): Promise<Page<T> | null> => {
    if (next === null) return null;
    without.empty = items.length === 0 ? without.empty + 1 : 0;
    without.known = items.length > 0 && news === 0 ? without.known + 1 : 0;
    if (
      without.empty > MOST_PAGES_WITHOUT_NEWS.empty ||
      without.known > MOST_PAGES_WITHOUT_NEWS.known
    ) {
      throw endless('sends pages without new items');
    }
    if (pages.has(next)) throw endless(`repeats the page ${cut(next, 60)}`);
    pages.add(next);
    return await fetchPage(next);
  };
  let page: Page<T> | null = await fetchPage(null);
  for (let isFirst = true; page !== null; isFirst = false) {
    const items: T[] = page.items.filter((item) => {
      const id = idOf(item);
      const isNew = id === '' || !known.has(id);
      known.add(id);
      return isNew;
    });
    const requested: Promise<Page<T> | null> | null =
      isFirst || ahead === 'none' ? null : following(page, items.length);
    requested?.catch(() => undefined); // thrown below, unless the reader stops before
    yield items;
    page = await (requested ?? following(page, items.length));
  }
}

export const byId = ({ id }: { id: string }): string => id;

export async function collectPages<T>({
  fetch,
  id,
  filter,
  limit = Number.POSITIVE_INFINITY,
  onRead,
}: {
  fetch(page: string | null, pageSize: number): Promise<Page<T>>;
  id(item: NoInfer<T>): string;
  filter?: (item: T) => boolean;
  limit?: number;
  /** Called with the number of items in the pages so far. */
  onRead?: ((count: number) => void) | undefined;
}): Promise<{ items: T[]; has_more: boolean }> {
  const items: T[] = [];
  const pageSize = filter ? PAGE_SIZE_MAX : Math.min(PAGE_SIZE_MAX, limit + 1);
  let isCut = false;
  let count = 0;
  const fetchPage = async (next: string | null): Promise<Page<T>> => {
    const page = await fetch(next, pageSize);
    isCut ||= page.isCut === true;
    onRead?.((count += page.items.length));
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

function endless(what: string): AppError {
  return new AppError('server', `the server ${what}: the list has no end`, {
    hint: 'the result is incomplete; limit it with --limit',
  });
}
