/** Which records a command is about: those a selection matches, or those that are named, on one server or several. */
import type { Context } from '../../context.ts';
import { collectPages } from '../../domain/pages.ts';
import { isNotFound } from '../../errors.ts';
import type { BulkItem } from '../../output/bulk.ts';
import { failedItem, serversOf } from '../bulk.ts';
import { readSelection, type SelectorOptions } from '../selectors.ts';
import { finderOf } from './find.ts';
import { idOf, type Resource, type StatusRecord, type Target } from './resource.ts';

export interface Chosen<R> {
  targets: Target<R>[];
  /** Ids that nothing was found for, and servers that could not be read. */
  unresolved: BulkItem[];
}

/** Every record that the selectors match, all pages read; without selectors every one. */
export async function chooseBySelector<R extends StatusRecord>(
  ctx: Context,
  resource: Resource<R>,
  options: SelectorOptions,
): Promise<Chosen<R>> {
  const selection = readSelection(options);
  const { reached, unresolved } = await serversOf(ctx);
  const targets: Target<R>[] = [];
  for (const { profile, server } of reached) {
    try {
      const selector = selection && (await resource.selector(ctx, server, selection));
      const { items } = await collectPages({
        fetch: (page, pageSize) => resource.list(server, page, pageSize),
        id: (record) => resource.view.id(record),
        ...(selector && { filter: selector.matches }),
      });
      const chosen = {
        server,
        chosenBy: 'selector' as const,
        ...(selector && { selector }),
        ...(profile && { profile }),
      };
      for (const seen of items) targets.push({ ...chosen, id: idOf(resource, seen), seen });
    } catch (error) {
      if (profile === undefined) throw error;
      unresolved.push(failedItem(null, error, profile));
    }
  }
  return { targets, unresolved };
}

/** Searches each id on every active server; an id that no server has becomes an item with its error. */
export async function chooseByIds<R extends StatusRecord>(
  ctx: Context,
  resource: Resource<R>,
  words: readonly string[],
  { ignoreNotFound }: { ignoreNotFound?: boolean },
): Promise<Chosen<R>> {
  const { reached, unresolved } = await serversOf(ctx);
  const places = reached.map((place) => ({ ...place, finder: finderOf(ctx, place.server, resource) }));
  const targets = new Map<string, Target<R>>();
  for (const word of words) {
    let failure: unknown = null;
    let isFound = false;
    for (const { profile, server, finder } of places) {
      try {
        const seen = await finder.find(word);
        const id = idOf(resource, seen);
        targets.set(`${profile ?? ''} ${id}`, { id, server, seen, chosenBy: 'id', ...(profile && { profile }) });
        isFound = true;
      } catch (error) {
        if (failure === null || !isNotFound(error)) failure = error;
      }
    }
    if (isFound || failure === null) continue;
    unresolved.push(ignoreNotFound && isNotFound(failure) ? untouched(word) : failedItem(word, failure));
  }
  return { targets: [...targets.values()], unresolved };
}

function untouched(id: string): BulkItem {
  return { id, ok: true, changed: false, before: null, after: null, error: null };
}
