import type { Context } from '../context.ts';
import { AppError, isFailure } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { SettingsSnapshot } from '../../domain/settings.ts';

export interface ModelSettings {
  llm_model: string;
  /** Empty: that of the provider. */
  llm_base_url: string;
  /** Undefined: the stored one. */
  llm_api_key?: string | null;
}

/**
 * Whether the server is the local service of this user on this machine: both call models over the
 * same network.
 */
export async function callsModelFromHere(ctx: Context, { info }: Server): Promise<boolean> {
  if (info.flavour !== 'local') return false;
  return (await (await ctx.local.service()).running())?.url === info.base_url;
}

export function modelOf({ values }: Pick<SettingsSnapshot, 'values'>): ModelSettings {
  const textOf = (name: string): string => String(values[name] ?? '');
  return { llm_model: textOf('llm_model'), llm_base_url: textOf('llm_base_url') };
}

/**
 * Calls a model once. The name that is returned is the one to store: the service removes a prefix
 * such as `openai/` before it calls an endpoint, so a name that the endpoint lists with the prefix
 * has to have another one. Throws `not-found` for a model without a URL, and as
 * ModelEndpoint.complete.
 */
export async function tryModel(
  ctx: Context,
  { llm_model, llm_base_url, llm_api_key }: ModelSettings,
  timeoutMs?: number,
): Promise<{ llm_model: string; url: string }> {
  const service = await ctx.local.service();
  const found = await service.modelEndpoint({ model: llm_model, base_url: llm_base_url });
  if (found === null)
    throw new AppError('not-found', `llm_model: where "${llm_model}" is served is not known`, {
      hint: 'give its URL: acs settings set llm_base_url=<url>',
    });
  const { baseUrl: url, model } = found;
  const key = llm_api_key === undefined ? await service.modelKey() : llm_api_key;
  const endpoint = await ctx.servers.modelEndpoint(url, key);
  if (llm_base_url !== '' && model !== llm_model) {
    const models = await endpoint.models().catch((error: unknown) => {
      if (isFailure(error)) return null;
      throw error;
    });
    if (models?.includes(llm_model) && !models.includes(model)) {
      await endpoint.complete(llm_model, timeoutMs);
      return { llm_model: `openai/${llm_model}`, url };
    }
  }
  await endpoint.complete(model, timeoutMs);
  return { llm_model, url };
}
