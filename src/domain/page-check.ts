/** Lists that servers give page by page: which answers show that such a list has no end. */
import { AppError } from '../errors.ts';

/** Some servers drop items after paging (interface 3.2), so a page may be empty and not the last one. */
const MOST_EMPTY_PAGES = 1_000;

/**
 * A check to be called with each page of one list, in order.
 * @returns throws AppError `server` when a page id comes a second time, when a page that is not the last one has only
 * items that came before, and after too many empty pages. An empty id is never known.
 */
export function createPageCheck(): (ids: readonly string[], next: string | null) => void {
  const pages = new Set<string>();
  const known = new Set<string>();
  let emptyPages = 0;
  return (ids, next) => {
    if (next === null) return;
    const hasNew = ids.some((id) => id === '' || !known.has(id));
    for (const id of ids) known.add(id);
    emptyPages = ids.length === 0 ? emptyPages + 1 : 0;
    if ((ids.length > 0 && !hasNew) || emptyPages > MOST_EMPTY_PAGES) throw endless('gives pages without new items');
    if (pages.has(next)) throw endless(`gives the page ${next.slice(0, 60)} again and again`);
    pages.add(next);
  };
}

function endless(what: string): AppError {
  return new AppError('server', `the server ${what}: the list has no end`, {
    hint: 'what was read is not complete; ask for fewer items with --limit',
  });
}
