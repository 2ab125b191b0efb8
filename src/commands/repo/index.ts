/** What the server lists at the user's git providers: repositories, their branches, and suggested tasks. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { GIT_PROVIDERS, taskKey, type Branch, type Repository, type SuggestedTask } from '../../domain/git-provider.ts';
import type { Page } from '../../domain/pages.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { acrossProviders, oneProviderOf, providersOf } from '../git-lookups.ts';
import { invalidValue, oneOf } from '../option-parsers.ts';
import { addPagingOptions, printList, type PagingOptions } from '../paging.ts';
import { branchView, repositoryView, taskView } from './views.ts';

interface LookupOptions extends PagingOptions {
  search?: string;
  gitProvider?: string;
}

export function declareRepo(root: Command, ctx: Context): void {
  const command = root
    .command('repo')
    .alias('repository')
    .description('list repositories, branches and suggested tasks');
  declareList(command, ctx);
  declareBranches(command, ctx);
  declareTasks(command, ctx);
}

function addProviderOption(command: Command, description: string): Command {
  return command.option('--git-provider <provider>', description, oneOf(...GIT_PROVIDERS));
}

function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list your repositories, or search for some');
  command.option('--search <text>', 'search at the git provider, also among repositories of others', filled);
  addProviderOption(command, 'only of this provider (default: all that the server has a token for)');
  addPagingOptions(command);
  explain(command, {
    notes: ['The server looks with the token of each git provider; see acs git-provider set. A search has one page.'],
    json: ({ listForm }) => [listForm(repositoryView)],
    exits: ['failed', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs repo list', does: 'list the repositories that were pushed to last' },
      { command: 'acs repo list --search website -q', does: 'print owner/name of those that match' },
    ],
  });
  command.action((options: LookupOptions) => listRepositories(options, ctx));
}

async function listRepositories(options: LookupOptions, ctx: Context): Promise<void> {
  const { search, gitProvider } = options;
  const fetch = (server: Server, git_provider: string, page: string | null, size: number): Promise<Page<Repository>> =>
    server.git.repositories({ git_provider, search }, page, size);
  await printList(ctx, {
    view: repositoryView,
    paging: options,
    key: ({ git_provider, name }) => `${git_provider} ${name}`,
    fetch: acrossProviders((server) => providersOf(server, gitProvider), fetch),
    ...narrowing(search),
  });
}

function declareBranches(parent: Command, ctx: Context): void {
  const command = parent.command('branches').description('list the branches of a repository');
  command
    .argument('<repository>', 'owner/name or a URL')
    .option('--search <text>', 'only branches whose names contain this', filled);
  addProviderOption(command, 'the provider of owner/name (default: the only one that the server has a token for)');
  addPagingOptions(command);
  explain(command, {
    json: ({ listForm }) => [listForm(branchView)],
    exits: ['failed', 'not-found', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs repo branches acme/website', does: 'list branches with their commits' },
      { command: 'acs repo branches acme/website --search release -q', does: 'print the names that match' },
    ],
  });
  command.action((name: string, options: LookupOptions) => listBranches(name, options, ctx));
}

async function listBranches(given: string, options: LookupOptions, ctx: Context): Promise<void> {
  const choice = await ctx.readRepository(given).catch(() => null);
  const repository = choice === null || choice.kind === 'path' ? null : choice.repository;
  if (repository === null) throw invalidRepository();
  const ofUrl = choice?.kind === 'url' ? (choice.git_provider ?? undefined) : undefined;
  const chosen = options.gitProvider ?? ofUrl;
  const { search } = options;
  const fetch = async (
    server: Server,
    git_provider: string,
    page: string | null,
    size: number,
  ): Promise<Page<Branch>> => {
    const found = await server.git.branches({ git_provider, repository, search }, page, size);
    // A repository that does not exist has an empty list, too.
    if (page === null && found.items.length === 0 && found.next === null && search === undefined)
      await ctx.notice(`${git_provider} lists no branch of ${repository}: check the name, and what the token may read`);
    return found;
  };
  const one = async (server: Server): Promise<string[]> => [await oneProviderOf(server, repository, chosen)];
  await printList(ctx, { view: branchView, paging: options, fetch: acrossProviders(one, fetch), ...narrowing(search) });
}

/** The text is not repeated: it may be a URL with a token in it. */
function invalidRepository(): AppError {
  return new AppError('usage', 'the argument is neither owner/name nor the URL of a repository', {
    hint: 'such as acme/website, or https://github.com/acme/website',
  });
}

function declareTasks(parent: Command, ctx: Context): void {
  const command = parent.command('tasks').description('list the tasks that the server suggests');
  command.option('-r, --repo <owner/name>', 'only tasks of this repository', filled);
  addProviderOption(command, 'only of this provider');
  addPagingOptions(command);
  explain(command, {
    notes: [
      'Suggested are your own pull requests that need work, and open issues that are assigned to you. The id of a task starts it: acs conv new --suggested-task <id>.',
    ],
    json: ({ listForm }) => [listForm(taskView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs repo tasks', does: 'list the tasks with their ids' },
      { command: 'acs repo tasks --repo acme/website -q', does: 'print the ids, such as acme/website#12' },
    ],
  });
  command.action((options: LookupOptions & { repo?: string }) => listTasks(options, ctx));
}

async function listTasks(options: LookupOptions & { repo?: string }, ctx: Context): Promise<void> {
  const { gitProvider, repo } = options;
  const isWanted = (task: SuggestedTask): boolean =>
    (gitProvider === undefined || task.git_provider === gitProvider) &&
    (repo === undefined || task.repo.toLowerCase() === repo.toLowerCase());
  await printList(ctx, {
    view: taskView,
    paging: options,
    key: taskKey,
    fetch: (server, page, size) => server.git.tasks(page, size),
    filter: () => Promise.resolve(isWanted),
  });
}

/** A search has one page: more of it is found by another search. */
function narrowing(search: string | undefined): { otherwise?: string } {
  return search === undefined ? {} : { otherwise: 'a longer --search, ' };
}

function filled(text: string): string {
  if (text.trim() === '') throw invalidValue('It must not be empty.');
  return text.trim();
}
