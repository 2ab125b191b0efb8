import type { Context } from '../context.ts';

/**
 * The context of one part of a command: these members are its own, and what is assigned to it stays
 * in it.
 */
export function derivedContext(ctx: Context, members: Partial<Context>): Context {
  const own = Object.entries(members).map(
    ([name, value]) => [name, { value, writable: true }] as const,
  );
  return Object.create(ctx, Object.fromEntries(own)) as Context;
}
