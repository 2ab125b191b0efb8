/** Which sandboxes a change is for: those named, or those a selection takes, at one server or several. */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import type { Selection } from '../../domain/selectors.ts';
import { isAppError } from '../../errors.ts';
import { failedItem, serversOf, type Target } from '../bulk.ts';
import { collectList } from '../paging.ts';
import { sandboxFinder } from './find.ts';
import { sandboxTest } from './runs.ts';
import type { BulkItem } from '../../output/options.ts';

export interface SandboxTarget extends Target {
  /** As it was when it was chosen. */
  seen: Sandbox;
  /** Whether it is the only one: then its way is shown. */
  company: 'alone' | 'others';
}

export interface Chosen {
  targets: SandboxTarget[];
  lost: BulkItem[];
}

/** Every sandbox that a selection takes, all pages read; null takes every one. */
export async function chooseBySelector(ctx: Context, selection: Selection | null): Promise<Chosen> {
  const { reached, lost } = await serversOf(ctx);
  const targets: SandboxTarget[] = [];
  for (const { profile, server } of reached) {
    try {
      const filter = await sandboxTest(ctx, server, selection);
      const { items } = await collectList({
        fetch: (page, pageSize) => server.sandboxes.list(page, pageSize),
        id: (sandbox) => sandbox.id,
        ...(filter ? { filter } : {}),
        limit: Number.POSITIVE_INFINITY,
        signal: ctx.signal,
      });
      targets.push(
        ...items.map((seen) => ({
          id: seen.id,
          server,
          seen,
          company: 'others' as const,
          ...(profile ? { profile } : {}),
        })),
      );
    } catch (error) {
      if (profile === undefined) throw error;
      lost.push(failedItem(null, error, profile));
    }
  }
  return { targets, lost };
}

/** Each id is looked for at every server in force; one that is nowhere is an item with its error. */
export async function chooseByIds(ctx: Context, ids: readonly string[], absent: 'ignore' | 'report'): Promise<Chosen> {
  const { reached, lost } = await serversOf(ctx);
  const finders = reached.map((place) => ({ ...place, finder: sandboxFinder(ctx, place.server) }));
  const targets = new Map<string, SandboxTarget>();
  for (const word of ids) {
    let failure: unknown = null;
    let isFound = false;
    for (const { profile, server, finder } of finders) {
      try {
        const seen = await finder.find(word);
        targets.set(`${profile ?? ''} ${seen.id}`, {
          id: seen.id,
          server,
          seen,
          company: 'others',
          ...(profile ? { profile } : {}),
        });
        isFound = true;
      } catch (error) {
        if (failure === null || !isNotFound(error)) failure = error;
      }
    }
    if (isFound || failure === null) continue;
    lost.push(absent === 'ignore' && isNotFound(failure) ? untouched(word) : failedItem(word, failure));
  }
  return { targets: [...targets.values()], lost };
}

function isNotFound(error: unknown): boolean {
  return isAppError(error) && error.kind === 'not-found';
}

function untouched(id: string): BulkItem {
  return { id, ok: true, changed: false, before: null, after: null, error: null };
}
