import type { Context } from '../../context.ts';
import { printList, type PagingOptions } from '../paging.ts';
import { readSelection, type SelectorOptions } from '../selectors.ts';
import type { Resource, StatusRecord } from './resource.ts';

/** Prints the records that the selectors match. */
export async function listSelected<R extends StatusRecord>(
  ctx: Context,
  resource: Resource<R>,
  options: SelectorOptions & PagingOptions,
): Promise<void> {
  const selection = readSelection(options);
  await printList(ctx, {
    view: resource.view,
    paging: options,
    fetch: resource.list,
    ...(selection && { filter: async (server) => (await resource.selector(ctx, server, selection)).matches }),
  });
}
