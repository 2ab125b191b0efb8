import type { Context } from '../context.ts';
import { AppError, isFailure, nullIf } from '../../base/errors.ts';
import type { ModelEndpoint } from '../../client/model-endpoint.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Page } from '../../domain/pages.ts';
import type { Model, SettingsSnapshot } from '../../domain/settings.ts';

/** Tokens that an agent needs for its prompt, its tools and some results. */
const LEAST_CONTEXT = 16_384;

type ModelContext = Pick<Context, 'local' | 'servers'>;

export interface ModelSettings {
  llm_model: string;
  /** Empty: that of the provider. */
  llm_base_url: string;
  /** Empty: the URL decides which interface is used. */
  api_mode?: string;
  /** Undefined: the stored one. */
  llm_api_key?: string | null;
}

export const API_MODE = 'agent_settings.llm.api_mode';

export interface ModelWarning {
  text: string;
  hint: string;
}

/** Only the local service of this user calls models over the network of this machine. */
export async function callsModelFromHere(
  ctx: Pick<Context, 'local'>,
  { info }: Server,
): Promise<boolean> {
  if (info.flavour !== 'local') return false;
  return (await (await ctx.local.service()).running())?.url === info.base_url;
}

export function modelOf({ values }: Pick<SettingsSnapshot, 'values'>): ModelSettings {
  const textOf = (name: string): string => String(values[name] ?? '');
  return {
    llm_model: textOf('llm_model'),
    llm_base_url: textOf('llm_base_url'),
    api_mode: textOf(API_MODE),
  };
}

/**
 * @returns the name to store: the service removes a prefix such as `openai/` before a call, so a
 * name that the endpoint lists with one needs another. Throws `not-found` where no URL is known.
 */
export async function tryModel(
  ctx: Context,
  settings: ModelSettings,
  timeoutMs?: number,
): Promise<{ llm_model: string; url: string; warning: ModelWarning | null }> {
  const { llm_model, llm_base_url } = settings;
  const { url, model, endpoint } = await openEndpoint(ctx, settings);
  if (llm_base_url !== '' && model !== llm_model) {
    const models = await endpoint.models().catch(nullIf(isFailure));
    if (models?.includes(llm_model) && !models.includes(model)) {
      await endpoint.complete(llm_model, timeoutMs);
      return { llm_model: `openai/${llm_model}`, url, warning: null };
    }
  }
  await endpoint.complete(model, timeoutMs);
  return { llm_model, url, warning: await shortContext(ctx, llm_model, url, model) };
}

/** Null unless Ollama runs the model, which was just called, with a context that is too short. */
async function shortContext(
  ctx: Context,
  llm_model: string,
  url: string,
  model: string,
): Promise<ModelWarning | null> {
  const baseUrl = await (await ctx.local.service()).ollamaUrl(llm_model, url);
  if (baseUrl === null) return null;
  const endpoint = await ctx.servers.modelEndpoint({ baseUrl, api: 'chat' }, null);
  const tokens = await endpoint.ollamaContext(model);
  if (tokens === null || tokens >= LEAST_CONTEXT) return null;
  return {
    text:
      `Ollama runs ${model} with a context of ${tokens} tokens and cuts longer requests; ` +
      `an agent needs ${LEAST_CONTEXT} or more`,
    hint:
      'restart Ollama with OLLAMA_CONTEXT_LENGTH=32768 ollama serve, or set PARAMETER num_ctx ' +
      '32768 in the Modelfile of the model',
  };
}

async function openEndpoint(
  ctx: ModelContext,
  { llm_model, llm_base_url, llm_api_key, api_mode }: ModelSettings,
): Promise<{ url: string; model: string; endpoint: ModelEndpoint }> {
  const service = await ctx.local.service();
  const llm = { model: llm_model, base_url: llm_base_url, api_mode };
  const found = await service.modelEndpoint(llm);
  if (found === null)
    throw new AppError('not-found', `llm_model: where "${llm_model}" is served is not known`, {
      hint:
        (await service.modelHint(llm_model)) ?? 'give its URL: acs settings set llm_base_url=<url>',
    });
  const { baseUrl: url, model } = found;
  const key = llm_api_key === undefined ? await service.modelKey() : llm_api_key;
  return { url, model, endpoint: await ctx.servers.modelEndpoint(found, key) };
}

/**
 * What `--model` takes at a server: for the local service of this user, the models of its endpoint.
 * Throws `config` where that has no model, `unsupported` where nothing lists them.
 */
export async function listModels(
  ctx: ModelContext,
  server: Server,
  page: string | null,
  pageSize: number,
): Promise<Page<Model>> {
  if (!(await callsModelFromHere(ctx, server))) return await server.models.list(page, pageSize);
  const settings = modelOf(await server.settings.read());
  const { llm_model, llm_base_url: base_url } = settings;
  if (llm_model === '')
    throw new AppError('config', 'the local service has no model', {
      hint:
        'set one, on a terminal: acs conv new\n' +
        'or: acs settings set llm_model=<name> llm_base_url=<url> llm_api_key=-',
    });
  const { url, model, endpoint } = await openEndpoint(ctx, settings);
  const listed = await endpoint.list();
  if (listed === null)
    throw new AppError('unsupported', `${url} does not list its models`, {
      hint: '--model takes the name of each model there',
    });
  const service = await ctx.local.service();
  // The provider that the name in the settings begins with, which is not a part of it there.
  const prefix = model === llm_model ? '' : llm_model.slice(0, llm_model.indexOf('/') + 1);
  const named = listed.map(async (each) => {
    for (const id of [prefix + each.id, `openai/${each.id}`]) {
      const called = await service.modelEndpoint({ model: id, base_url });
      if (called?.baseUrl === url && called.model === each.id) return [{ ...each, id }];
    }
    return [];
  });
  const items = (await Promise.all(named)).flat();
  return { items: await Promise.all(items.map((item) => service.knownModel(item))), next: null };
}
