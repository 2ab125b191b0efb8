/** The questions of `conv new` on a terminal: repository, branch, message, spec, and a last look. */
import type { Context } from '../../context.ts';
import { taskId, type Repository, type SuggestedTask } from '../../domain/git-provider.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { writeMessage } from './message.ts';
import { DEMO } from './new-files.ts';
import type { TypedMessage } from './new-kept.ts';
import type { NewOptions } from './new-options.ts';
import { branchProblem } from './new-repository.ts';
import {
  chooseTask,
  searchBranch,
  searchedProviders,
  searchRepository,
  type Choice,
  type Chosen,
} from './new-wizard-search.ts';

export interface Answers {
  /** Null for a replay and a suggested task. */
  message: string | null;
  task: SuggestedTask | null;
  options: Pick<NewOptions, 'repo' | 'branch' | 'spec' | 'gitProvider'>;
}

/** Prompts for what the flags leave open; for a message only where nothing is replayed. */
export async function askForTask(
  ctx: Context,
  { server, replay }: { server: Server; replay: string | null },
  options: NewOptions,
  typed: TypedMessage,
): Promise<Answers> {
  const place = options.repo === undefined ? await askForRepository(ctx, server) : { repo: options.repo, listed: null };
  const { repo, listed } = place;
  const branch = options.branch ?? (await askForBranch(ctx, server, place));
  const task = replay === null && listed !== null ? await chooseTask(ctx, server, listed) : null;
  const message = replay === null && task === null ? await askForMessage(ctx, typed) : null;
  const spec = options.spec ?? (options.sandbox === undefined ? await askForSpec(ctx, server) : undefined);
  const gitProvider = options.gitProvider ?? listed?.git_provider;
  return { message, task, options: { repo, branch, spec, gitProvider } };
}

/** The last look; -y answers it. */
export async function confirmTask(ctx: Context, request: NewConversation): Promise<void> {
  const lines = [
    ['repository', request.repository ?? 'none'],
    ['branch', request.branch ?? (request.repository === null ? '' : "the repository's default")],
    [
      'task',
      request.suggested_task === null ? '' : `${taskId(request.suggested_task)} ${request.suggested_task.title}`,
    ],
    ['message', firstLine(request.message ?? '')],
    ['replay', request.replay === null ? '' : request.replay === DEMO ? DEMO : 'a file'],
    ['spec', request.spec_id ?? ''],
  ];
  for (const [name = '', value = ''] of lines) if (value !== '') await ctx.notice(`${name.padEnd(10)}  ${value}`);
  if (ctx.globals.yes === 'given') return;
  const prompt = await ctx.prompt();
  if (await prompt.confirm({ message: 'Start the conversation?', default: 'yes' })) return;
  throw new AppError('usage', 'nothing was started, because the answer was no');
}

interface Place {
  /** False: none; undefined: the checkout. */
  repo: string | false | undefined;
  /** The record of the server, where it was chosen from its list. */
  listed: Repository | null;
}

/** The detected one first. */
async function askForRepository(ctx: Context, server: Server): Promise<Place> {
  const checkout = await ctx.checkout();
  const name = checkout?.origin?.repository ?? checkout?.root ?? '';
  const here = checkout === null ? [] : [{ value: 'here', name, description: 'the current checkout' }];
  const first = [...here, { value: 'none', name: 'none' }];
  const providers = await searchedProviders(ctx, server);
  const answer =
    providers.length > 0 ? await searchRepository(ctx, server, { providers, first }) : await typeRepository(ctx, first);
  if ('item' in answer) return { repo: answer.item.name, listed: answer.item };
  const repo = 'typed' in answer ? answer.typed : answer.value === 'none' ? false : undefined;
  return { repo, listed: null };
}

async function typeRepository(ctx: Context, first: readonly Choice[]): Promise<Chosen<never>> {
  const prompt = await ctx.prompt();
  const choices = [...first, { value: 'other', name: 'another repository' }];
  const value = await prompt.select({ message: 'Repository', choices });
  if (value !== 'other') return { value };
  const typed = await prompt.input({
    message: 'Repository (owner/name, a URL or a path)',
    validate: (value) => (value.trim() === '' ? 'a repository is needed' : true),
  });
  return { typed };
}

async function askForBranch(ctx: Context, server: Server, { repo, listed }: Place): Promise<string | undefined> {
  if (repo === false) return undefined;
  if (listed !== null) return (await searchBranch(ctx, server, listed)) ?? undefined;
  const prompt = await ctx.prompt();
  const current = repo === undefined ? (await ctx.checkout())?.branch : null;
  const answer = await prompt.input({
    message: current ? 'Branch' : "Branch (empty: the repository's default)",
    ...(current ? { default: current } : {}),
    validate: async (value) => {
      const branch = value.trim() || (current ?? '');
      return branch === '' ? true : ((await branchProblem(ctx, server, { repo, branch })) ?? true);
    },
  });
  return answer.trim() === '' ? undefined : answer.trim();
}

async function askForMessage(ctx: Context, typed: TypedMessage): Promise<string> {
  const prompt = await ctx.prompt();
  const line = await prompt.input({ message: 'What should the agent do? (empty opens your editor)' });
  if (line.trim() !== '') return (typed.text = line);
  return await writeMessage(ctx, 'What should the agent do?', typed);
}

/** Only where there is a choice. */
async function askForSpec(ctx: Context, server: Server): Promise<string | undefined> {
  if (server.presence('sandboxes') === 'absent') return undefined;
  const { items } = await server.specs.list(null, 50).catch((error: unknown) => {
    if (isAppError(error) && error.kind === 'unsupported') return { items: [] };
    throw error;
  });
  if (items.length < 2) return undefined;
  const prompt = await ctx.prompt();
  const preferred = items.find((spec) => spec.default)?.id;
  const answer = await prompt.select({
    message: 'Sandbox spec',
    choices: items.map(({ id }) => ({ value: id, name: id === preferred ? `${id} (default)` : id })),
    ...(preferred === undefined ? {} : { default: preferred }),
  });
  return answer === preferred ? undefined : answer;
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length < text.trim().length ? `${line} …` : line;
}
