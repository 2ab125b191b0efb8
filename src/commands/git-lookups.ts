/** Which git provider of a server is looked at: the given one, the only one, or one after the other. */
import type { Page } from '../domain/pages.ts';
import { AppError, isAppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';

/** The given provider, or all that the server has a token for. Throws `auth` where it has none. */
export async function providersOf(server: Server, given?: string): Promise<string[]> {
  const stored = await storedProviders(server, given);
  const chosen = given === undefined ? stored : stored.filter((name) => name === given);
  if (chosen.length > 0) return chosen;
  throw new AppError('auth', `the server has no token of ${given ?? 'a git provider'}`, {
    hint: `store one with: acs git-provider set ${given ?? '<provider>'}`,
  });
}

async function storedProviders(server: Server, given: string | undefined): Promise<string[]> {
  try {
    return (await server.git.providers()).map(({ git_provider }) => git_provider);
  } catch (error) {
    // The server does not report which ones it has a token for.
    if (given !== undefined && isAppError(error) && error.kind === 'conflict') return [given];
    throw error;
  }
}

/** The one provider that the server has a token for. Throws `usage` when there is none or a choice. */
export async function onlyProvider(server: Server, what: string): Promise<string> {
  const providers = await server.git.providers().catch((error: unknown) => {
    if (isAppError(error) && ['unsupported', 'conflict'].includes(error.kind)) return null;
    throw error;
  });
  return single(providers?.map(({ git_provider }) => git_provider) ?? null, what);
}

/** The given provider, or the one that the server has a token for. Throws `auth` where it has none, `usage` for a choice. */
export async function oneProviderOf(server: Server, what: string, given?: string): Promise<string> {
  return single(await providersOf(server, given), what);
}

/** @param names null: the server does not report them */
function single(names: readonly string[] | null, what: string): string {
  const [only, ...others] = names ?? [];
  if (only !== undefined && others.length === 0) return only;
  const reason =
    names === null
      ? 'the server does not report which ones it has tokens for'
      : `the server has ${only === undefined ? 'no token of any' : `tokens of ${names.join(', ')}`}`;
  throw new AppError('usage', `the git provider of ${what} is not known: ${reason}`, {
    hint: `add --git-provider ${only === undefined ? 'github, gitlab, bitbucket, forgejo, …' : [only, ...others].join(' or ')}`,
  });
}

type FetchOf<T> = (server: Server, provider: string, page: string | null, pageSize: number) => Promise<Page<T>>;

/** Reads the pages of one provider after the other. @param choose the providers, once for each server */
export function acrossProviders<T>(
  choose: (server: Server) => Promise<string[]>,
  fetch: FetchOf<T>,
): (server: Server, page: string | null, pageSize: number) => Promise<Page<T>> {
  const known = new WeakMap<Server, Promise<string[]>>();
  return async (server, page, pageSize) => {
    const choosing = known.get(server) ?? choose(server);
    known.set(server, choosing);
    const providers = await choosing;
    const [index, inner] = page === null ? [0, null] : (JSON.parse(page) as [number, string | null]);
    const found = await fetch(server, providers[index] ?? '', inner, pageSize).catch((error: unknown) => {
      throw withOthers(error, providers, index);
    });
    const isLast = found.next === null && index === providers.length - 1;
    const next: [number, string | null] = found.next === null ? [index + 1, null] : [index, found.next];
    return { ...found, next: isLast ? null : JSON.stringify(next) };
  };
}

/** With several providers the error names the one that it is of, and how to list the others. */
function withOthers(error: unknown, providers: readonly string[], index: number): unknown {
  if (!isAppError(error) || providers.length === 1 || error.kind === 'interrupted') return error;
  const others = providers.filter((_provider, at) => at !== index);
  return new AppError(error.kind, `${providers[index] ?? ''}: ${error.message}`, {
    ...error.details,
    hint: `list the others with --git-provider ${others.join(' or ')}`,
  });
}
