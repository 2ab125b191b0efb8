/**
 * Composition of adapters. `METHODS` has every method of the port's groups, so that what holds for all of them (loaded at
 * the first call, passed on to one of two dialects, missing) is written once and a new method is added in the port and
 * in each dialect alone.
 */
import type { Adapter } from './server.ts';

export type Group = Exclude<keyof Adapter, 'account'>;
type Kind = 'call' | 'stream';

/** By what a method returns: a promise, or an async iterable. */
const METHODS: { [G in Group]: Record<keyof Adapter[G], Kind> } = {
  conversations: {
    start: 'stream',
    findStart: 'call',
    list: 'call',
    get: 'call',
    getComplete: 'call',
    runsInSandbox: 'call',
    rename: 'call',
    remove: 'call',
    eventPages: 'stream',
    follow: 'stream',
    result: 'call',
    send: 'call',
    pending: 'call',
    answer: 'call',
    checkAnswer: 'call',
    run: 'call',
    startSandbox: 'call',
    untilStored: 'call',
    stop: 'call',
    diff: 'call',
    webPage: 'call',
  },
  sandboxes: {
    list: 'call',
    get: 'call',
    secrets: 'call',
    create: 'call',
    pause: 'call',
    resume: 'call',
    remove: 'call',
    exec: 'call',
    files: 'call',
  },
  specs: { list: 'call', get: 'call' },
  settings: { read: 'call', write: 'call', schema: 'call' },
  secrets: { list: 'call', set: 'call', remove: 'call' },
  git: {
    providers: 'call',
    connect: 'call',
    disconnect: 'call',
    repositories: 'call',
    branches: 'call',
    tasks: 'call',
  },
  modelProfiles: { list: 'call', get: 'call', save: 'call', use: 'call', rename: 'call', remove: 'call' },
};

type Method = (...args: unknown[]) => unknown;

/** A group whose methods are passed on to the group that `target` resolves to; `target` is given their first argument. */
export function forward<G extends Group>(group: G, target: (first: unknown) => Promise<Adapter[G]>): Adapter[G] {
  const methodOf = async (name: string, args: unknown[]): Promise<Method> =>
    ((await target(args[0])) as Record<string, Method>)[name] as Method;
  const forwarded = Object.entries<Kind>(METHODS[group]).map(([name, kind]): [string, Method] => [
    name,
    kind === 'call'
      ? async (...args) => await (await methodOf(name, args))(...args)
      : async function* (...args) {
          return yield* (await methodOf(name, args))(...args) as AsyncGenerator<unknown, unknown, void>;
        },
  ]);
  return Object.fromEntries(forwarded) as unknown as Adapter[G];
}

/** A group that is loaded at the first call of one of its methods. */
export function deferred<G extends Group>(group: G, load: () => Promise<Adapter[G]>): Adapter[G] {
  let loaded: Promise<Adapter[G]> | null = null;
  return forward(group, () => (loaded ??= load()));
}

/** A group that a dialect lacks: every method rejects with this error. */
export function lacking<G extends Group>(group: G, error: () => Error): Adapter[G] {
  return forward(group, () => Promise.reject(error()));
}
