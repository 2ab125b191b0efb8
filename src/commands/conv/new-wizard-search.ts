/** Repositories, branches and tasks in the wizard of `conv new`, where the server has tokens of git providers. */
import type { Context } from '../../context.ts';
import { taskId, type Branch, type Repository, type SuggestedTask } from '../../domain/git-provider.ts';
import type { Page } from '../../domain/pages.ts';
import { isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';

const MOST_SHOWN = 20;
/** What is typed within this time is searched for at once. */
const DEBOUNCE_MS = 300;

export interface Choice {
  value: string;
  name: string;
  description?: string;
}

/** One of the choices before the list, the text as it was typed, or an item of the list. */
export type Chosen<T> = { value: string } | { typed: string } | { item: T };

/** The providers to search at; empty where the server has none, or cannot list them. */
export async function searchedProviders(ctx: Context, server: Server): Promise<string[]> {
  try {
    if (server.presence('repositories') === 'absent') return [];
    return (await server.git.providers()).map(({ git_provider }) => git_provider);
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    if (error.kind !== 'unsupported') await ctx.notice(`the server lists no repositories: ${error.message}`);
    return [];
  }
}

export async function searchRepository(
  ctx: Context,
  server: Server,
  { providers, first }: { providers: readonly string[]; first: readonly Choice[] },
): Promise<Chosen<Repository>> {
  return await searchFor<Repository>(ctx, server, {
    message: 'Repository (type to search)',
    first,
    typedAs: 'owner/name, a URL or a path',
    list: async (bound, search) => {
      // Servers search by name; a URL or a path is taken as typed.
      if (search !== undefined && /^[./]|:/.test(search)) return [];
      return await fromAny(providers, (git_provider) =>
        bound.git.repositories({ git_provider, search }, null, MOST_SHOWN),
      );
    },
    choice: ({ name, git_provider }) => ({ name, description: git_provider }),
  });
}

/** @returns null for the default branch */
export async function searchBranch(
  ctx: Context,
  server: Server,
  { name: repository, git_provider, default_branch }: Repository,
): Promise<string | null> {
  const byDefault = "the repository's default";
  const answer = await searchFor<Branch>(ctx, server, {
    message: 'Branch (type to search)',
    first: [{ value: 'default', name: default_branch === null ? byDefault : `${default_branch} (${byDefault})` }],
    typedAs: 'a branch that the server does not list',
    list: async (bound, search) =>
      (await bound.git.branches({ git_provider, repository, search }, null, MOST_SHOWN)).items.filter(
        ({ name }) => search !== undefined || name !== default_branch,
      ),
    choice: ({ name }) => ({ name }),
  });
  return 'item' in answer ? answer.item.name : 'typed' in answer ? answer.typed : null;
}

/** A suggested task of the repository; null: a message is written instead, also where none is suggested. */
export async function chooseTask(
  ctx: Context,
  server: Server,
  { name, git_provider }: Repository,
): Promise<SuggestedTask | null> {
  const found = await server.git.tasks(null).catch((error: unknown) => {
    if (isAppError(error) && error.kind !== 'interrupted') return { items: [] };
    throw error;
  });
  const tasks = found.items.filter((task) => task.repo === name && task.git_provider === git_provider);
  if (tasks.length === 0) return null;
  const prompt = await ctx.prompt();
  const answer = await prompt.select({
    message: 'Task',
    choices: [
      { value: 'message', name: 'write a message' },
      ...tasks.slice(0, MOST_SHOWN).map((task, index) => ({
        value: String(index),
        name: `${taskId(task)} ${task.title}`,
        description: task.task_type,
      })),
    ],
  });
  return answer === 'message' ? null : (tasks[Number(answer)] ?? null);
}

interface Search<T> {
  message: string;
  /** Before anything is typed. */
  first: readonly Choice[];
  /** What the typed text stands for. */
  typedAs: string;
  /** @param search undefined: nothing is typed */
  list(server: Server, search: string | undefined): Promise<T[]>;
  choice(item: T): Omit<Choice, 'value'>;
}

/** A search while the user types: a request that a later text supersedes is aborted. A server that fails leaves the typed text. */
async function searchFor<T>(ctx: Context, server: Server, search: Search<T>): Promise<Chosen<T>> {
  const answers = new Map<string, Chosen<T>>();
  const prompt = await ctx.prompt();
  const answer = await prompt.search({
    message: search.message,
    async choices(text, signal) {
      const typed = text.trim();
      const { found, problem } = await listed(ctx, server, search, typed, signal);
      const choices = found.slice(0, MOST_SHOWN).map((item, index) => {
        const value = `found:${typed}:${index}`;
        answers.set(value, { item });
        return { value, ...search.choice(item) };
      });
      if (typed === '') return [...withProblem(search.first, problem), ...choices];
      if (choices.some(({ name }) => name === typed)) return choices;
      const description = problem === null ? search.typedAs : `${search.typedAs} (${problem})`;
      const value = `typed:${typed}`;
      answers.set(value, { typed });
      return [...choices, { value, name: `${typed} (as typed)`, description }];
    },
  });
  return answers.get(answer) ?? { value: answer };
}

async function listed<T>(
  ctx: Context,
  server: Server,
  search: Search<T>,
  typed: string,
  signal: AbortSignal,
): Promise<{ found: T[]; problem: string | null }> {
  if (typed !== '') await ctx.clock.sleep(DEBOUNCE_MS, signal);
  try {
    const bound = await server.withSignal(AbortSignal.any([ctx.signal, signal]));
    return { found: await search.list(bound, typed === '' ? undefined : typed), problem: null };
  } catch (error) {
    if (!isAppError(error) || ctx.signal.aborted || signal.aborted) throw error;
    return { found: [], problem: `the server did not list any: ${error.message}` };
  }
}

/** The problem is the description of each choice that has none. */
function withProblem(choices: readonly Choice[], problem: string | null): Choice[] {
  return choices.map((choice) => (problem === null ? choice : { description: problem, ...choice }));
}

/** Of each provider at once. Throws what one of them throws when no other has anything. */
async function fromAny<T>(providers: readonly string[], ask: (provider: string) => Promise<Page<T>>): Promise<T[]> {
  const answers = await Promise.allSettled(providers.map((provider) => ask(provider)));
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.items : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  return found;
}
