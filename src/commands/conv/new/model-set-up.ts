/** The first model of the local service: it is called before it is stored. */
import type { Context } from '../../../cli/context.ts';
import { isFailure } from '../../../cli/errors.ts';
import type { Server } from '../../../client/server.ts';
import { tryModel } from '../../model-check.ts';

/** The usual ports. */
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
  /** Null: the endpoint lists none. */
  models: string[] | null;
}

export async function setUpModel(ctx: Context, { settings }: Server): Promise<void> {
  const snapshot = await settings.read();
  const prompt = await ctx.prompt();
  const found = await endpointsHere(ctx);
  for (;;) {
    const { url, key, models } = await askForEndpoint(ctx, found);
    const llm_model = await askForName(ctx, models);
    const open = { llm_model, llm_base_url: url };
    const progress = await ctx.progress(`calling ${llm_model}`, 'nothing');
    try {
      await tryModel(ctx, snapshot, { ...open, llm_api_key: key }).finally(() => progress.done());
    } catch (error) {
      if (!isFailure(error)) throw error;
      await ctx.warn([error.message, error.details.hint].filter(Boolean).join('; '));
      if (await prompt.confirm({ message: 'Set it up again?', default: 'yes' })) continue;
      throw error;
    }
    const isStale = key === null && snapshot.secrets['llm_api_key'] === 'set';
    await settings.write({
      set: { ...open, ...(key === null ? {} : { llm_api_key: key }) },
      unset: isStale ? ['llm_api_key'] : [],
      allow_loss: 'refuse',
    });
    return await ctx.notice(`the model ${llm_model} at ${url} answers and is stored; change it: acs settings set`);
  }
}

async function endpointsHere(ctx: Context): Promise<(Endpoint & { name: string })[]> {
  const progress = await ctx.progress('looking for models on this machine', 'nothing');
  const found = await Promise.all(
    ON_THIS_MACHINE.map(async ({ name, url }) => {
      const endpoint = await ctx.modelEndpoint(url, null);
      const models = await endpoint.models().catch((error: unknown) => {
        // Another program may listen on the port.
        if (isFailure(error)) return null;
        throw error;
      });
      return { name, url, key: null, models };
    }),
  ).finally(() => progress.done());
  const usable = found.filter(({ models }) => models !== null && models.length > 0);
  if (usable.length === 0) await ctx.notice('no model was found on this machine (Ollama, llama.cpp, LM Studio)');
  return usable;
}

async function askForEndpoint(ctx: Context, found: readonly (Endpoint & { name: string })[]): Promise<Endpoint> {
  const prompt = await ctx.prompt();
  if (found.length > 0) {
    const here = found.map(({ name, url }) => ({ value: url, name, description: url }));
    const other = { value: '', name: 'another URL', description: 'hosted, or on another port' };
    const answer = await prompt.select({ message: 'Where is the model?', choices: [...here, other] });
    const chosen = found.find(({ url }) => url === answer);
    if (chosen !== undefined) return chosen;
  }
  const read = async (url: string, key: string | null): Promise<string[] | null> =>
    await (await ctx.modelEndpoint(url, key)).models();
  const url = await prompt.input({
    message: 'URL of the OpenAI-compatible endpoint',
    default: 'https://api.openai.com/v1',
    validate: async (value) => {
      if (!/^https?:\/\//.test(value) || !URL.canParse(value)) return 'an http or https URL is needed';
      // Accepts an endpoint that requires a key: the next prompt asks for it.
      return await problemOf(() => read(value, null), ['auth']);
    },
  });
  let models: string[] | null = null;
  const typed = await prompt.secret({
    message: 'Key (empty: none)',
    validate: (value) => problemOf(async () => (models = await read(url, value.trim() || null))),
  });
  return { url, key: typed.trim() || null, models };
}

async function askForName(ctx: Context, models: string[] | null): Promise<string> {
  const prompt = await ctx.prompt();
  if (models !== null && models.length > 0 && models.length <= MOST_CHOICES)
    return await prompt.select({ message: 'Model', choices: models.map((value) => ({ value, name: value })) });
  const typed = await prompt.input({
    message: 'Model',
    validate: (value) => {
      if (value.trim() === '') return 'a model is needed';
      return models === null || models.includes(value.trim()) || 'the endpoint does not list this model';
    },
  });
  return typed.trim();
}

async function problemOf(read: () => Promise<unknown>, accepted: readonly string[] = []): Promise<true | string> {
  try {
    await read();
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (!accepted.includes(error.kind)) return error.message.replace(/^llm_\w+: /, '');
  }
  return true;
}
