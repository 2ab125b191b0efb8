import type { Adapter } from './server.ts';

export type Group = Exclude<keyof Adapter, 'account'>;

const STREAMS: ReadonlySet<PropertyKey> = new Set([
  'start',
  'eventPages',
  'follow',
] satisfies (keyof Adapter['conversations'])[]);

/** `own` methods, and for every other one that of the target for the first argument of the call. */
export function forward<T extends object>(
  target: (first: unknown) => Promise<T>,
  own: Partial<T> = {},
): T {
  type Method = (...args: unknown[]) => Promise<unknown> & AsyncGenerator<unknown, unknown, void>;
  const get = (_: unknown, name: string | symbol) => {
    if (name in own) return own[name as keyof T];
    // An awaited group would be taken for a promise.
    if (name === 'then') return undefined;
    const method = async (args: unknown[]) =>
      ((await target(args[0])) as Record<PropertyKey, Method>)[name] as Method;
    return STREAMS.has(name)
      ? async function* (...args: unknown[]) {
          return yield* (await method(args))(...args);
        }
      : async (...args: unknown[]) => await (await method(args))(...args);
  };
  return new Proxy({}, { get }) as T;
}

export function deferred<T extends object>(load: () => Promise<T>, own?: Partial<T>): T {
  let loaded: Promise<T> | null = null;
  return forward(() => (loaded ??= load()), own);
}
