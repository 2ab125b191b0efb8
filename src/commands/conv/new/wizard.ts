import type { Context } from '../../context.ts';
import { derivedContext } from '../../shared/derived-context.ts';
import { AppError, isAppError, isFailure } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Repository } from '../../../domain/git-provider.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import { callsModelFromHere } from '../../shared/model-check.ts';
import { writeMessage, type TypedMessage } from '../message.ts';
import { setUpModel } from './model-set-up.ts';
import type { NewOptions } from './options.ts';
import { isCloneable, repositoryProblem } from './repository.ts';
import { DEMO, readReplay } from './request.ts';

const MOST_SHOWN = 20;
const MODEL_CHOICE = {
  value: 'model',
  name: 'set up a model',
  description: 'of Ollama, llama.cpp or LM Studio on this machine, or hosted',
} as const;

const WITHOUT_ISOLATION = 'process';

/** A local service without a model refuses every message. `replay`: null for a message. */
export async function chooseStart(
  ctx: Context,
  server: Server,
): Promise<{ ctx: Context; server: Server; replay: string | null }> {
  if (server.presence('demo-replay') !== 'present') return { ctx, server, replay: null };
  if (((await server.settings.read()).values['llm_model'] ?? '') !== '')
    return { ctx, server, replay: null };
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.select({
    message: 'The local service has no model. How do you want to continue?',
    choices: [
      ...((await callsModelFromHere(ctx, server)) ? [MODEL_CHOICE] : []),
      { value: 'demo', name: 'run the demo', description: 'the built-in recorded run' } as const,
      {
        value: 'replay',
        name: 'replay a file',
        description: 'a recorded run of your own',
      } as const,
      {
        value: 'profile',
        name: 'use another server',
        description: 'one of your server profiles',
      } as const,
    ],
  });
  if (answer === 'model') {
    await setUpModel(ctx, server);
    return { ctx, server, replay: null };
  }
  if (answer === 'demo') return { ctx, server, replay: DEMO };
  if (answer === 'replay') {
    const file = await prompt.input({
      message: 'Replay file',
      validate: async (value) => {
        if (value.trim() === '') return 'a file is needed';
        return await readReplay(ctx, value.trim()).then(
          () => true as const,
          (error: unknown) => {
            if (isAppError(error)) return error.message;
            throw error;
          },
        );
      },
    });
    return { ctx, server, replay: await readReplay(ctx, file.trim()) };
  }
  const profiles = await (await ctx.profiles.store()).list();
  const choices = profiles.map(({ name, base_url }) => ({
    value: name,
    name,
    description: base_url,
  }));
  const another = { value: '', name: 'another server', description: 'sign in to it' };
  let name =
    choices.length === 0
      ? ''
      : await prompt.select({ message: 'Server', choices: [...choices, another] });
  const other = { profile: undefined, baseUrl: undefined, apiKeyFile: undefined };
  if (name === '') {
    if (ctx.globals.mode === 'dry-run')
      throw new AppError('config', 'a dry run stores no server profile', {
        hint: 'store one: acs login',
      });
    const { signIn } = await import('../../login.ts');
    name = (await signIn(undefined, { check: true }, derivedContext(ctx, { server: other }))) ?? '';
    await ctx.notice(`signed in; the profile is "${name}"`);
  }
  const chosen = derivedContext(ctx, { server: { ...other, profile: name } });
  return await chooseStart(chosen, await chosen.servers.active());
}

export async function askForTask(
  ctx: Context,
  { server, replay }: { server: Server; replay: string | null },
  options: NewOptions,
  typed: TypedMessage,
): Promise<{
  message: string | null;
  options: Pick<NewOptions, 'repo' | 'branch' | 'spec' | 'gitProvider'>;
}> {
  let { repo, branch, gitProvider } = options;
  let byDefault = '';
  if (repo === undefined) {
    const checkout = await ctx.git.checkout();
    const name = checkout?.origin?.repository ?? checkout?.root ?? '';
    const here = { value: 'here', name, description: 'the current checkout' };
    const none = { value: 'none', name: 'none' };
    const isHere = checkout !== null && isCloneable(server, checkout);
    const answer = await askForRepository(ctx, server, isHere ? [here, none] : [none], options);
    repo = answer.repo;
    gitProvider ??= answer.listed?.git_provider;
    byDefault = (repo === undefined ? checkout?.branch : answer.listed?.default_branch) ?? '';
  }
  if (branch === undefined && repo !== false)
    branch = await askForBranch(ctx, server, { repo, gitProvider }, byDefault);
  let message: string | null = null;
  if (replay === null) {
    message = await typeMessage(ctx);
    if (message.trim() === '')
      message = await writeMessage(ctx, 'What should the agent do?', typed);
    typed.text = message;
  }
  const spec = options.spec ?? (await askForSpec(ctx, server, options));
  return { message, options: { repo, branch, spec, gitProvider } };
}

async function askForBranch(
  ctx: Context,
  server: Server,
  { repo, gitProvider }: NewOptions,
  byDefault: string,
): Promise<string | undefined> {
  const chosen = {
    ...(repo === undefined ? {} : { repo }),
    ...(gitProvider === undefined ? {} : { gitProvider }),
  };
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.input({
    message: byDefault === '' ? "Branch (empty: the repository's default)" : 'Branch',
    ...(byDefault === '' ? {} : { default: byDefault }),
    validate: async (value) => {
      const branch = value.trim() || byDefault;
      return (
        branch === '' || ((await repositoryProblem(ctx, server, { ...chosen, branch })) ?? true)
      );
    },
  });
  return answer.trim() || undefined;
}

async function askForSpec(
  ctx: Context,
  server: Server,
  { sandbox }: NewOptions,
): Promise<string | undefined> {
  if (sandbox !== undefined || server.presence('sandboxes') === 'absent') return undefined;
  const { items } = await server.specs.list(null, 50).catch((error: unknown) => {
    if (isAppError(error) && error.kind === 'unsupported') return { items: [] };
    throw error;
  });
  if (items.length < 2) return undefined;
  const preferred = items.find((item) => item.default)?.id;
  const choices = items.map(({ id }) => ({
    value: id,
    name: id === preferred ? `${id} (default)` : id,
    ...(id === WITHOUT_ISOLATION && { description: 'no isolation: the agent has your rights' }),
  }));
  const prompt = await ctx.terminal.prompt();
  const first = preferred === undefined ? {} : { default: preferred };
  const answer = await prompt.select({ message: 'Sandbox spec', choices, ...first });
  // The local service runs an agent with a model without isolation only if the spec is named.
  return answer === preferred && answer !== WITHOUT_ISOLATION ? undefined : answer;
}

/** The questions of inquirer take only the first line of a paste. */
async function typeMessage(ctx: Context): Promise<string> {
  const prompt = 'What should the agent do? (empty opens your editor) ';
  const lines = await ctx.terminal.lineInput();
  try {
    const line = await lines.read({ prompt, kind: 'message' });
    if (line.type !== 'text')
      throw new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130 });
    await ctx.notice(`${prompt}${line.text.trim()}`);
    return line.text;
  } finally {
    await lines.close();
  }
}

export async function confirmTask(ctx: Context, request: NewConversation): Promise<void> {
  const { repository, branch, replay, spec_id } = request;
  const message = (request.message ?? '').trim();
  const [line = ''] = message.split('\n');
  const defaultBranch = repository === null ? null : "the repository's default";
  const lines = {
    repository: repository ?? 'none',
    branch: branch ?? defaultBranch,
    message: line.length < message.length ? `${line} …` : line,
    replay: replay === null || replay === DEMO ? replay : 'a file',
    spec: spec_id,
  };
  const isAsked = ctx.globals.yes === 'given' ? undefined : 'question';
  for (const [name, value] of Object.entries(lines))
    if (value) await ctx.notice(`${name.padEnd(10)}  ${value}`, isAsked);
  if (isAsked === undefined) return;
  if (
    await (
      await ctx.terminal.prompt()
    ).confirm({ message: 'Start the conversation?', default: 'yes' })
  )
    return;
  throw new AppError('usage', 'nothing was started, because the answer was no');
}

async function askForRepository(
  ctx: Context,
  server: Server,
  first: readonly { value: string; name: string; description?: string }[],
  { gitProvider }: NewOptions,
): Promise<{ repo?: string | false; listed?: Repository }> {
  let found: Repository[] = [];
  try {
    if (server.presence('repositories') !== 'absent') {
      const providers = await server.git.providers();
      const pages = await Promise.all(
        providers.map(({ git_provider }) =>
          server.git.repositories({ git_provider }, null, MOST_SHOWN),
        ),
      );
      found = pages.flatMap(({ items }) => items).slice(0, MOST_SHOWN);
    }
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (error.kind !== 'unsupported')
      await ctx.notice(`the server lists no repositories: ${error.message}`);
  }
  const prompt = await ctx.terminal.prompt();
  const listed = found.map(({ name, git_provider }, index) => ({
    value: String(index),
    name,
    description: git_provider,
  }));
  const choices = [...first, ...listed, { value: 'other', name: 'another repository' }];
  const value = await prompt.select({ message: 'Repository', choices });
  const chosen = found[Number(value)];
  if (chosen !== undefined) return { repo: chosen.name, listed: chosen };
  if (value !== 'other') return value === 'none' ? { repo: false } : {};
  const repo = await prompt.input({
    message: 'Repository (owner/name, a URL or a path)',
    validate: async (text) =>
      text.trim() === ''
        ? 'a repository is needed'
        : ((await repositoryProblem(ctx, server, { repo: text, gitProvider })) ?? true),
  });
  return { repo };
}
