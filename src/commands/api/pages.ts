/** `--paginate`: a list of the server, page by page, as V1 (`items`) and V0 (`results`) have them. */
import type { Context } from '../../context.ts';
import { eachPage, type Page } from '../../domain/pages.ts';
import type { RawCall } from '../../domain/raw-call.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { documentsOf } from './print.ts';

/** Prints one document, or with ndjson the items as their pages arrive. */
export async function printPages(server: Server, call: RawCall, ctx: Context): Promise<void> {
  const isStream = ctx.globals.format === 'ndjson';
  let first: ListPage | null = null;
  const all: unknown[] = [];
  const pages = eachPage(idOf, async (page): Promise<Page<unknown>> => {
    const answer = await server.call({ ...call, path: pathOfPage(call.path, page) });
    if (answer.error !== null) throw answer.error;
    const list = listOf(documentsOf(answer)[0]);
    first ??= list;
    return list;
  });
  for await (const items of pages) {
    if (isStream) await ctx.out.documents(items);
    else all.push(...items);
  }
  if (!isStream && first !== null) await ctx.out.documents([(first as ListPage).withItems(all)]);
}

interface ListPage extends Page<unknown> {
  /** The same document with other items, as the last page of a list. */
  withItems: (items: unknown[]) => unknown;
}

function listOf(document: unknown): ListPage {
  if (Array.isArray(document)) return { items: document, next: null, withItems: (items) => items };
  const page = (typeof document === 'object' && document !== null ? document : {}) as Record<string, unknown>;
  const name = ['items', 'results'].find((each) => Array.isArray(page[each]));
  if (name === undefined) {
    throw new AppError('usage', '--paginate: the answer is not a list, and has neither "items" nor "results"', {
      hint: 'omit --paginate',
    });
  }
  const { next_page_id: next } = page;
  const hasNext = (typeof next === 'string' && next !== '') || typeof next === 'number';
  return {
    items: page[name] as unknown[],
    next: hasNext ? String(next) : null,
    withItems: (items) => ({ ...page, [name]: items, ...('next_page_id' in page ? { next_page_id: null } : {}) }),
  };
}

/** An item without an id is never a duplicate. */
function idOf(item: unknown): string {
  if (typeof item !== 'object' || item === null) return '';
  const { id, conversation_id } = item as { id?: unknown; conversation_id?: unknown };
  const known = id ?? conversation_id;
  return typeof known === 'string' || typeof known === 'number' ? String(known) : '';
}

function pathOfPage(path: string, page: string | null): string {
  if (page === null) return path;
  const [pathname = '', query = ''] = path.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  parameters.set('page_id', page);
  return `${pathname}?${parameters.toString()}`;
}
