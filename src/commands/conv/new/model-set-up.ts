/** The first model of the local service: it is called before it is stored. */
import type { Context } from '../../context.ts';
import { isFailure, type AppError } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import { warnOfUnmasked } from '../../shared/files.ts';
import { tryModel } from '../../shared/model-check.ts';

const ON_THIS_MACHINE = [
  { name: 'Ollama', url: 'http://127.0.0.1:11434/v1' },
  { name: 'llama.cpp', url: 'http://127.0.0.1:8080/v1' },
  { name: 'LM Studio', url: 'http://127.0.0.1:1234/v1' },
];
/** A longer list, as of a hosted router, is not shown: the name is typed. */
const MOST_CHOICES = 20;

interface Endpoint {
  url: string;
  key: string | null;
  /** Null: the endpoint lists none, or `problem`. */
  models: string[] | null;
  problem: AppError | null;
}

const HOSTED: Endpoint = {
  url: 'https://api.openai.com/v1',
  key: null,
  models: null,
  problem: null,
};

export async function setUpModel(ctx: Context, { settings }: Server): Promise<void> {
  const { secrets } = await settings.read();
  const found = await endpointsHere(ctx);
  let endpoint = await askForEndpoint(ctx, found, HOSTED);
  let model = await askForName(ctx, endpoint, '');
  let called = await callModel(ctx, endpoint, model);
  while (typeof called !== 'string') {
    const part = await askWhatToChange(ctx, endpoint, called);
    if (part === 'nothing, stop here') throw called;
    if (part === 'key') endpoint = await askForKey(ctx, endpoint);
    if (part === 'URL') endpoint = await askForEndpoint(ctx, found, endpoint);
    if (part !== 'key') model = await askForName(ctx, endpoint, model);
    called = await callModel(ctx, endpoint, model);
  }
  const { url, key } = endpoint;
  await warnOfUnmasked(ctx, 'llm_api_key', key);
  await settings.write({
    set: { llm_model: called, llm_base_url: url, ...(key === null ? {} : { llm_api_key: key }) },
    unset: key === null && secrets['llm_api_key'] === 'set' ? ['llm_api_key'] : [],
    allow_loss: 'refuse',
  });
  const { context, input_price, output_price } = await (
    await ctx.local.service()
  ).knownModel({ id: called, kind: 'model', context: null, input_price: null, output_price: null });
  const known = [
    ...(context === null ? [] : [`context ${context} tokens`]),
    ...(input_price === null ? [] : [`$${input_price} in and $${output_price} out per million`]),
  ].map((text) => `, ${text}`);
  await ctx.notice(
    `the model ${model} at ${url} answers and is stored${known.join('')}; see: acs help models`,
  );
}

/** The name by which the endpoint takes the model, or why it does not answer. */
async function callModel(
  ctx: Context,
  { url, key }: Endpoint,
  llm_model: string,
): Promise<string | AppError> {
  const progress = await ctx.terminal.progress(`calling ${llm_model}`, 'nothing');
  try {
    const settings = { llm_model, llm_base_url: url, llm_api_key: key };
    const { llm_model: called, warning } = await tryModel(ctx, settings);
    if (warning !== null) await ctx.warn(`${warning.text}; ${warning.hint}`);
    return called;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return error;
  } finally {
    await progress.done();
  }
}

async function endpointsHere(ctx: Context): Promise<(Endpoint & { name: string })[]> {
  const progress = await ctx.terminal.progress('looking for models on this machine', 'nothing');
  const found = await Promise.all(
    ON_THIS_MACHINE.map(async ({ name, url }) => ({ name, ...(await read(ctx, url, null)) })),
  ).finally(() => progress.done());
  // Another program may have the port.
  const usable = found.filter((endpoint) => isEndpoint(endpoint) && endpoint.models?.length !== 0);
  if (usable.length === 0)
    await ctx.notice('no model was found on this machine (Ollama, llama.cpp, LM Studio)');
  return usable;
}

async function read(ctx: Context, url: string, key: string | null): Promise<Endpoint> {
  try {
    const service = await ctx.local.service();
    const found = await service.modelEndpoint({ model: 'none', base_url: url });
    const at = { baseUrl: url, api: found?.api ?? 'chat' };
    const models = await (await ctx.servers.modelEndpoint(at, key)).models();
    return { url, key, models, problem: null };
  } catch (error) {
    if (!isFailure(error)) throw error;
    return { url, key, models: null, problem: error };
  }
}

/** True too where the endpoint requires a key to list its models. */
function isEndpoint({ models, problem }: Endpoint): boolean {
  return models !== null || problem?.kind === 'auth';
}

/** Many URLs are typed without their `/v1`. */
async function locate(ctx: Context, url: string, key: string | null): Promise<Endpoint> {
  const own = await read(ctx, url, key);
  if (isEndpoint(own) || own.problem?.kind === 'network') return own;
  const below = await read(ctx, `${url}/v1`, key);
  return isEndpoint(below) ? below : own;
}

async function askForEndpoint(
  ctx: Context,
  found: readonly (Endpoint & { name: string })[],
  last: Endpoint,
): Promise<Endpoint> {
  const prompt = await ctx.terminal.prompt();
  if (found.length > 0) {
    const here = found.map(({ name, url }) => ({ value: url, name, description: url }));
    const other = { value: '', name: 'another URL', description: 'hosted, or on another port' };
    const answer = await prompt.select({
      message: 'Where is the model?',
      choices: [...here, other],
    });
    const chosen = found.find(({ url }) => url === answer);
    if (chosen !== undefined)
      return chosen.problem === null ? chosen : await askForKey(ctx, chosen);
  }
  let endpoint = last;
  await prompt.input({
    message: 'URL of the OpenAI-compatible endpoint',
    default: last.url,
    validate: async (value) => {
      const url = value.trim().replace(/\/+$/, '');
      if (!/^https?:\/\/[^/@]+(\/|$)/.test(url) || !URL.canParse(url))
        return 'an http or https URL is needed, without a user name';
      endpoint = await locate(ctx, url, null);
      return endpoint.problem?.kind === 'auth' || problemOf(endpoint);
    },
  });
  return await askForKey(ctx, endpoint);
}

async function askForKey(ctx: Context, { url }: Endpoint): Promise<Endpoint> {
  let endpoint = HOSTED;
  await (
    await ctx.terminal.prompt()
  ).secret({
    message: 'Key (empty: none)',
    validate: async (value) => problemOf((endpoint = await locate(ctx, url, value.trim() || null))),
  });
  return endpoint;
}

export async function askForName(
  ctx: Context,
  { models }: Pick<Endpoint, 'models'>,
  last: string,
): Promise<string> {
  const prompt = await ctx.terminal.prompt();
  if (models !== null && models.length > 0 && models.length <= MOST_CHOICES) {
    const choices = models.map((value) => ({ value, name: value }));
    return await prompt.select({ message: 'Model', choices, default: last });
  }
  const typed = await prompt.input({
    message: models?.length === 0 ? 'Model (the endpoint lists none)' : 'Model',
    default: last,
    validate: (value) => value.trim() !== '' || 'a model is needed',
  });
  return typed.trim();
}

async function askWhatToChange(
  ctx: Context,
  { key }: Endpoint,
  { kind, message, details }: AppError,
): Promise<'key' | 'model' | 'URL' | 'nothing, stop here'> {
  const isOfKey = kind === 'auth';
  await ctx.warn(isOfKey ? message : [message, details.hint].filter(Boolean).join('; '));
  if (isOfKey && key === null) return 'key';
  const cause = message.startsWith('llm_base_url') ? 'URL' : 'model';
  return await (
    await ctx.terminal.prompt()
  ).select({
    message: 'What do you want to change?',
    choices: (['key', 'model', 'URL', 'nothing, stop here'] as const).map((value) => ({
      value,
      name: value,
    })),
    default: isOfKey ? 'key' : cause,
  });
}

function problemOf({ problem }: Endpoint): true | string {
  return problem === null || problem.message.replace(/^llm_\w+: /, '');
}
