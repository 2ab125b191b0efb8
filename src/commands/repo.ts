import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError, isOfKind, nullIf, isFailure } from '../base/errors.ts';
import { GIT_PROVIDERS, type Branch, type Repository } from '../domain/git-provider.ts';
import type { View } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import { invalidValue, oneOf } from './shared/option-parsers.ts';
import { addPagingOptions, printList, type PagingOptions } from './shared/lists.ts';
import type { Page } from '../domain/pages.ts';
import type { Server } from '../client/shared/server.ts';

export const repositoryView: View<Repository> = {
  noun: 'repository',
  id: ({ name }) => name,
  fields: [
    { name: 'name', weight: 3 },
    { name: 'git_provider', weight: 0 },
    { name: 'public', weight: 0 },
    { name: 'default_branch', weight: 1 },
    { name: 'stars', as: 'number' },
    { name: 'pushed_at', as: 'time', weight: 0 },
  ],
  table: ['name', 'git_provider', 'public', 'default_branch', 'pushed_at'],
};

export const branchView: View<Branch> = {
  noun: 'branch',
  id: ({ name }) => name,
  fields: [
    { name: 'name', weight: 3 },
    { name: 'commit', as: 'id', weight: 1 },
    { name: 'protected', weight: 0 },
    { name: 'pushed_at', as: 'time', weight: 0 },
  ],
};

interface LookupOptions extends PagingOptions {
  search?: string;
  gitProvider?: string;
}

export function declare(command: Command, ctx: Context): void {
  const list = command
    .command('list')
    .alias('ls')
    .description('list your repositories, or search for some');
  list
    .option(
      '--search <text>',
      'search at the git provider, also among repositories of others',
      readSearch,
    )
    .option(
      '--git-provider <provider>',
      'only this provider (default: all with a token)',
      oneOf(...GIT_PROVIDERS),
    );
  addPagingOptions(list);
  explain(list, {
    notes: [
      'The server uses its token for each git provider; see acs git-provider set. A search ' +
        'has one page.',
    ],
    json: ({ listForm }) => [listForm(repositoryView)],
    exits: ['failed', 'conflict', 'unsupported'],
    examples: {
      'acs repo list': 'list the repositories that were pushed to last',
      'acs repo list --search website -q': 'print owner/name of those that match',
    },
  });
  list.action(({ search, gitProvider, ...paging }: LookupOptions) =>
    printList(ctx, {
      view: repositoryView,
      paging,
      key: ({ git_provider, name }) => `${git_provider} ${name}`,
      fetch: acrossProviders(
        (server) => providersOf(server, gitProvider),
        (server, git_provider, page, size) =>
          server.git.repositories({ git_provider, search }, page, size),
      ),
      ...narrowing(search),
    }),
  );

  const branches = command.command('branches').description('list the branches of a repository');
  branches
    .argument('<repository>', 'owner/name or a URL')
    .option('--search <text>', 'only branches whose names contain this', readSearch)
    .option(
      '--git-provider <provider>',
      'the provider of owner/name (default: the only one with a token)',
      oneOf(...GIT_PROVIDERS),
    );
  addPagingOptions(branches);
  explain(branches, {
    json: ({ listForm }) => [listForm(branchView)],
    exits: ['failed', 'not-found', 'conflict', 'unsupported'],
    examples: {
      'acs repo branches acme/website': 'list branches with their commits',
      'acs repo branches acme/website --search release -q': 'print the names that match',
    },
  });
  branches.action((given: string, options: LookupOptions) => listBranches(ctx, given, options));
}

async function listBranches(
  ctx: Context,
  given: string,
  { search, gitProvider, ...paging }: LookupOptions,
): Promise<void> {
  const choice = await ctx.git.readRepository(given).catch(() => null);
  const repository = choice === null || choice.kind === 'path' ? null : choice.repository;
  if (repository === null) {
    // The text is not repeated: it may be a URL with a token in it.
    throw new AppError('usage', 'the argument is neither owner/name nor the URL of a repository', {
      hint: 'such as acme/website, or https://github.com/acme/website',
    });
  }
  const ofUrl = choice?.kind === 'url' ? (choice.git_provider ?? undefined) : undefined;
  await printList(ctx, {
    view: branchView,
    paging,
    fetch: acrossProviders(
      async (server) => [single(await providersOf(server, gitProvider ?? ofUrl), repository)],
      async (server, git_provider, page, size) => {
        const found = await server.git.branches({ git_provider, repository, search }, page, size);
        // Servers return an empty list for a repository that does not exist, too.
        if (
          page === null &&
          found.items.length === 0 &&
          found.next === null &&
          search === undefined
        )
          await ctx.notice(
            `${git_provider} lists no branch of ${repository}: check the name and the ` +
              'rights of the token',
          );
        return found;
      },
    ),
    ...narrowing(search),
  });
}

/** A search has one page: more of it is found by another search. */
function narrowing(search: string | undefined): { otherwise?: string } {
  return search === undefined ? {} : { otherwise: 'a longer --search, ' };
}

function readSearch(text: string): string {
  if (text.trim() === '') throw invalidValue('It must not be empty.');
  return text.trim();
}

/** The given provider, or all that the server has a token for. Throws `auth` where it has none. */
async function providersOf(server: Server, given?: string): Promise<string[]> {
  const stored = await server.git.providers().then(
    (providers) => providers.map(({ git_provider }) => git_provider),
    (error: unknown) => {
      // The server does not report which ones it has a token for.
      if (given !== undefined && isOfKind('conflict')(error)) return [given];
      throw error;
    },
  );
  const chosen = given === undefined ? stored : stored.filter((name) => name === given);
  if (chosen.length > 0) return chosen;
  throw new AppError('auth', `the server has no token for ${given ?? 'a git provider'}`, {
    hint: `store one with: acs git-provider set ${given ?? '<provider>'}`,
  });
}

/** The only provider with a token on the server. Throws `usage` for none, and for a choice. */
export async function onlyProvider(server: Server, what: string): Promise<string> {
  const providers = await server.git.providers().catch(nullIf(isOfKind('unsupported', 'conflict')));
  return single(providers?.map(({ git_provider }) => git_provider) ?? null, what);
}

/** @param names null: the server does not report them */
function single(names: readonly string[] | null, what: string): string {
  const [only, ...others] = names ?? [];
  if (only !== undefined && others.length === 0) return only;
  let reason = 'the server does not report which ones it has tokens for';
  if (names !== null)
    reason =
      only === undefined
        ? 'the server has no git provider token'
        : `the server has tokens for ${names.join(', ')}`;
  throw new AppError('usage', `no git provider is named for ${what}: ${reason}`, {
    hint: `add --git-provider ${names?.join(' or ') || 'github, gitlab, bitbucket, forgejo, …'}`,
  });
}

function acrossProviders<T>(
  choose: (server: Server) => Promise<string[]>,
  fetch: (
    server: Server,
    provider: string,
    page: string | null,
    pageSize: number,
  ) => Promise<Page<T>>,
): (server: Server, page: string | null, pageSize: number) => Promise<Page<T>> {
  const known = new WeakMap<Server, Promise<string[]>>();
  return async (server, page, pageSize) => {
    const choosing = known.get(server) ?? choose(server);
    known.set(server, choosing);
    const providers = await choosing;
    const [index, inner] =
      page === null ? [0, null] : (JSON.parse(page) as [number, string | null]);
    const found = await fetch(server, providers[index] ?? '', inner, pageSize).catch(
      (error: unknown) => {
        if (!isFailure(error) || providers.length === 1) throw error;
        const others = providers.filter((_provider, at) => at !== index);
        const hint = `list the others with --git-provider ${others.join(' or ')}`;
        throw error.with({ hint }, `${providers[index]}: ${error.message}`);
      },
    );
    const isLast = found.next === null && index === providers.length - 1;
    const next: [number, string | null] =
      found.next === null ? [index + 1, null] : [index, found.next];
    return { ...found, next: isLast ? null : JSON.stringify(next) };
  };
}
