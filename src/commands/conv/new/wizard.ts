import type { Context } from '../../context.ts';
import { derivedContext } from '../../shared/derived-context.ts';
import { AppError, isAppError, isFailure, isOfKind, nullIf } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import type { Repository } from '../../../domain/git-provider.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import { BACKEND_HERE, isBackendHere } from '../../shared/backend-here.ts';
import { callsModelFromHere, listModels } from '../../shared/model-check.ts';
import { writeMessage, type TypedMessage } from '../message.ts';
import { askForName, setUpModel } from './model-set-up.ts';
import type { NewOptions } from './options.ts';
import { isCloneable, repositoryProblem } from './repository.ts';
import { completeDraft, DEMO, type Draft } from './request.ts';

const MOST_SHOWN = 20;
const MODEL_CHOICE = {
  value: 'model',
  name: 'set up a model',
  description: 'of Ollama, llama.cpp or LM Studio on this machine, or hosted',
} as const;

const CANVAS_CHOICE = {
  value: 'canvas',
  name: 'use Agent Canvas',
  description: `the one at ${BACKEND_HERE}`,
} as const;

const WITHOUT_ISOLATION = 'process';

/** A local service without a model refuses every message. `replay`: null for a message. */
export async function chooseStart(ctx: Context): Promise<{ ctx: Context; replay: string | null }> {
  const server = await ctx.servers.active();
  const own = { ctx, replay: null };
  if (server.presence('demo-replay') !== 'present') return own;
  if (((await server.settings.read()).values['llm_model'] ?? '') !== '') return own;
  const profiles = await (await ctx.profiles.store()).list();
  const isStored = profiles.some(({ base_url }) => base_url === BACKEND_HERE);
  const isHere = !isStored && (await isBackendHere(ctx));
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.select({
    message: 'The local service has no model. How do you want to continue?',
    choices: [
      ...(isHere ? [CANVAS_CHOICE] : []),
      ...((await callsModelFromHere(ctx, server)) ? [MODEL_CHOICE] : []),
      { value: 'demo', name: 'run the demo', description: 'the built-in recorded run' } as const,
      {
        value: 'profile',
        name: 'use another server',
        description: 'one of your server profiles',
      } as const,
    ],
  });
  if (answer === 'model') {
    await setUpModel(ctx, server);
    return own;
  }
  if (answer === 'demo') return { ctx, replay: DEMO };
  const choices = profiles.map(({ name, base_url }) => ({
    value: name,
    name,
    description: base_url,
  }));
  const another = { value: '', name: 'another server', description: 'sign in to it' };
  let name =
    choices.length === 0 || answer === 'canvas'
      ? ''
      : await prompt.select({ message: 'Server', choices: [...choices, another] });
  const other = { profile: undefined, baseUrl: undefined, apiKeyFile: undefined };
  if (name === '') {
    if (ctx.globals.mode === 'dry-run')
      throw new AppError('config', 'a dry run stores no server profile', {
        hint: 'store one: acs login',
      });
    const { signIn } = await import('../../login.ts');
    const given = answer === 'canvas' ? { ...other, baseUrl: BACKEND_HERE } : other;
    name = (await signIn(undefined, { check: true }, derivedContext(ctx, { server: given }))) ?? '';
    await ctx.notice(`signed in; the profile is "${name}"`);
  }
  return await chooseStart(derivedContext(ctx, { server: { ...other, profile: name } }));
}

const OWN_RIGHTS = {
  default_sandbox_spec_id: WITHOUT_ISOLATION,
  confirmation_mode: true,
  security_analyzer: 'none',
};

/** Repeats a start that was refused for lack of isolation, if the user permits it for all. */
export async function withPermission<T>(ctx: Context, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const isAsked = isAppError(error) && error.details.data?.['reason'] === 'no-isolation';
    if (!isAsked || !ctx.terminal.interactive) throw error;
    await ctx.warn(error.message);
    const prompt = await ctx.terminal.prompt();
    const message = 'Run its commands with your own rights, and ask you before each one?';
    if (!(await prompt.confirm({ message, default: 'yes' })))
      throw new AppError(
        'unsupported',
        'nothing was started, because the answer was no',
        error.details,
      );
    const { settings } = await ctx.servers.active();
    await settings.write({ set: OWN_RIGHTS, unset: [], allow_loss: 'refuse' });
    const undo = `acs settings unset ${Object.keys(OWN_RIGHTS).join(' ')}`;
    await ctx.notice(`this is stored in the settings of the local service; undo it: ${undo}`);
  }
  return await start();
}

/** The word that is entered in place of a task. */
const EDIT = 'e';
const QUESTION = 'What should the agent do?';

/** Asks for the task, and for the rest only where it is to be changed. */
export async function askForTask(
  ctx: Context,
  server: Server,
  { draft, options }: { draft: Draft; options: NewOptions },
  typed: TypedMessage,
): Promise<{ request: NewConversation; known: Conversation | null }> {
  const quiet = derivedContext(ctx, { notice: () => Promise.resolve() });
  const settings = await server.settings.read().catch(nullIf(isFailure));
  const model = String(settings?.values['llm_model'] ?? '');
  let chosen = options;
  for (;;) {
    const changed = { ...draft, model: chosen.model ?? null };
    const completed = await completeDraft(quiet, server, changed, chosen);
    const { request, known } = completed;
    if (known !== null) return completed;
    if (draft.replay !== null) {
      await ctx.notice(summary(ctx, request, ''));
      return completed;
    }
    await ctx.notice(`${summary(ctx, request, model)}; edit with ${EDIT}`, 'question');
    const text = await typeMessage(ctx);
    if (text.trim() !== EDIT) {
      const isTyped = text.trim() !== '';
      request.message = isTyped ? text : await writeMessage(ctx, QUESTION, typed);
      return completed;
    }
    chosen = await edit(ctx, server, chosen, model);
  }
}

function summary(
  ctx: Context,
  { repository, branch, workspace, model, spec_id }: NewConversation,
  usual: string,
): string {
  const folder = workspace?.kind === 'folder' ? workspace.path : null;
  const place = repository ?? folder ?? 'no repository';
  const { home } = ctx.local;
  const name = model ?? usual;
  return [
    place.startsWith(`${home}/`) ? `~${place.slice(home.length)}` : place,
    branch ?? (repository === null ? '' : 'the default branch'),
    name && `model ${name}`,
    spec_id && `spec ${spec_id}`,
  ]
    .filter(Boolean)
    .join(', ');
}

async function edit(
  ctx: Context,
  server: Server,
  options: NewOptions,
  usual: string,
): Promise<NewOptions> {
  const changed = { ...options };
  if (options.workspace === undefined && options.withChanges !== true) {
    const { byDefault, ...place } = await askForRepository(ctx, server, options);
    Object.assign(changed, place, { branch: undefined });
    if (place.repo !== false)
      changed.branch = await askForBranch(ctx, server, changed, byDefault ?? '');
  }
  const { model: before = usual } = options;
  if (before !== '') {
    const page = await listModels(ctx, server, null, 100).catch(nullIf(isFailure));
    const ids = page?.items.map(({ id }) => id) ?? [];
    const models = ids.length > 1 && ids.includes(before) ? ids : null;
    const model = await askForName(ctx, { models }, before);
    if (model !== before) changed.model = model;
  }
  changed.spec = await askForSpec(ctx, server, options);
  return changed;
}

async function askForBranch(
  ctx: Context,
  server: Server,
  { repo, gitProvider }: NewOptions,
  byDefault: string,
): Promise<string | undefined> {
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.input({
    message: byDefault === '' ? "Branch (empty: the repository's default)" : 'Branch',
    default: byDefault,
    validate: async (value) => {
      const branch = value.trim() || byDefault;
      if (branch === '') return true;
      return (await repositoryProblem(ctx, server, { repo, gitProvider, branch })) ?? true;
    },
  });
  return answer.trim() || undefined;
}

/** Undefined: the server's default. */
async function askForSpec(
  ctx: Context,
  server: Server,
  { sandbox }: NewOptions,
): Promise<string | undefined> {
  if (sandbox !== undefined || server.presence('sandboxes') === 'absent') return undefined;
  const specs = await server.specs.list(null, 50).catch(nullIf(isOfKind('unsupported')));
  const items = specs?.items ?? [];
  if (items.length < 2) return undefined;
  const preferred = items.find((item) => item.default)?.id;
  const choices = items.map(({ id }) => ({
    value: id,
    name: id === preferred ? `${id} (default)` : id,
    ...(id === WITHOUT_ISOLATION && { description: 'no isolation: the agent has your rights' }),
  }));
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.select({ message: 'Sandbox spec', choices, default: preferred });
  return answer === preferred && answer !== WITHOUT_ISOLATION ? undefined : answer;
}

/** The questions of inquirer take only the first line of a paste. */
async function typeMessage(ctx: Context): Promise<string> {
  const prompt = `${QUESTION} (empty opens your editor) `;
  const lines = await ctx.terminal.lineInput();
  try {
    const line = await lines.read({ prompt, kind: 'message' });
    if (line.type !== 'text')
      throw new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130 });
    const shown = line.text.trim();
    if (shown !== EDIT) await ctx.notice(`${prompt}${shown}`);
    return line.text;
  } finally {
    await lines.close();
  }
}

async function askForRepository(
  ctx: Context,
  server: Server,
  { gitProvider }: NewOptions,
): Promise<Pick<NewOptions, 'repo' | 'gitProvider'> & { byDefault?: string | null }> {
  const checkout = await ctx.git.checkout();
  const here = {
    value: 'here',
    name: checkout?.origin?.repository ?? checkout?.root ?? '',
    description: 'the current checkout',
  };
  const isHere = checkout !== null && isCloneable(server, checkout);
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
  const none = { value: 'none', name: 'none' };
  const choices = [
    ...(isHere ? [here] : []),
    none,
    ...listed,
    { value: 'other', name: 'another repository' },
  ];
  const value = await prompt.select({ message: 'Repository', choices });
  const chosen = found[Number(value)];
  if (chosen !== undefined) {
    const { name, git_provider, default_branch } = chosen;
    return { repo: name, gitProvider: git_provider, byDefault: default_branch };
  }
  if (value === 'none') return { repo: false };
  if (value === 'here') return { repo: undefined, byDefault: checkout?.branch };
  const repo = await prompt.input({
    message: 'Repository (owner/name, a URL or a path)',
    validate: async (text) =>
      text.trim() === ''
        ? 'a repository is needed'
        : ((await repositoryProblem(ctx, server, { repo: text, gitProvider })) ?? true),
  });
  return { repo };
}
