import type { Context } from '../context.ts';
import { AppError, isFailure, nullIf } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { SettingsSnapshot } from '../../domain/settings.ts';

export interface ModelSettings {
  llm_model: string;
  /** Empty: that of the provider. */
  llm_base_url: string;
  /** Undefined: the stored one. */
  llm_api_key?: string | null;
}

/** Only the local service of this user calls models over the network of this machine. */
export async function callsModelFromHere(ctx: Context, { info }: Server): Promise<boolean> {
  if (info.flavour !== 'local') return false;
  return (await (await ctx.local.service()).running())?.url === info.base_url;
}

export function modelOf({ values }: Pick<SettingsSnapshot, 'values'>): ModelSettings {
  const textOf = (name: string): string => String(values[name] ?? '');
  return { llm_model: textOf('llm_model'), llm_base_url: textOf('llm_base_url') };
}

/**
 * @returns the name to store: the service removes a prefix such as `openai/` before a call, so a
 * name that the endpoint lists with one needs another. Throws `not-found` where no URL is known.
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
    const models = await endpoint.models().catch(nullIf(isFailure));
    if (models?.includes(llm_model) && !models.includes(model)) {
      await endpoint.complete(llm_model, timeoutMs);
      return { llm_model: `openai/${llm_model}`, url };
    }
  }
  await endpoint.complete(model, timeoutMs);
  return { llm_model, url };
}
