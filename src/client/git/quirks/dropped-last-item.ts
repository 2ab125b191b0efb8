/**
 * Lists the repositories and branches that a V1 server drops between two pages.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `repo list` and `repo branches` lack one item per page: the server reads pages of one
 *           item more than the limit, drops the last one, and continues behind it.
 * Evidence: test/client/quirks/dropped-last-item.test.ts; `search_repositories` and
 *           `search_branches` in app_server/git/git_router.py of 1.11.0
 * Cost:     0 requests for a list of one page, else 1 more per page
 * Remove:   unknown
 */
import type { Page } from '../../../domain/pages.ts';

interface Position {
  page: string | null;
  before: number;
  part: 'page' | 'overlap';
}

const FIRST: Position = { page: null, before: 0, part: 'page' };

/** A limit smaller by one makes the page begin `before` items earlier, with the dropped item. */
export async function pageWithDropped<T>(
  position: string | null,
  limit: number,
  fetch: (page: string | null, limit: number) => Promise<Page<T>>,
): Promise<Page<T>> {
  const { page, before, part } = position === null ? FIRST : (JSON.parse(position) as Position);
  if (part === 'overlap') {
    const { items } = await fetch(page, limit - 1);
    return { items, next: encoded({ page, before, part: 'page' }) };
  }
  const { items, next } = await fetch(page, limit);
  if (next === null) return { items, next };
  const isReached = before + 1 < limit;
  return {
    items,
    next: encoded({ page: next, before: before + 1, part: isReached ? 'overlap' : 'page' }),
  };
}

function encoded(position: Position): string {
  return JSON.stringify(position);
}
