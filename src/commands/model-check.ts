import type { Context } from '../cli/context.ts';
import { AppError } from '../cli/errors.ts';
import type { Server } from '../client/server.ts';
import type { JsonValue, SettingsSnapshot } from '../domain/settings.ts';

/** Whether the server is the local service of this user on this machine: both call models over the same network. */
export async function callsModelFromHere(ctx: Context, { info }: Server): Promise<boolean> {
  if (info.flavour !== 'local') return false;
  return (await (await ctx.localService()).running())?.url === info.base_url;
}

/**
 * Calls the model of the settings after a change, once. Null where none is set. Throws `not-found` for a model
 * without a URL, and as ModelEndpoint.complete.
 */
export async function tryModel(
  ctx: Context,
  { values, secrets }: SettingsSnapshot,
  change: Readonly<Record<string, JsonValue>> = {},
): Promise<{ model: string; url: string } | null> {
  const textOf = (name: string): string => String((name in change ? change[name] : values[name]) ?? '');
  const model = textOf('llm_model');
  if (model === '') return null;
  const service = await ctx.localService();
  const endpoint = await service.modelEndpoint({ model, base_url: textOf('llm_base_url') });
  if (endpoint === null)
    throw new AppError('not-found', `llm_model: the URL of "${model}" is not known`, {
      hint: 'give its URL: acs settings set llm_base_url=<url>',
    });
  const isStored = !('llm_api_key' in change) && secrets['llm_api_key'] === 'set';
  const key = isStored ? await service.modelKey() : textOf('llm_api_key') || null;
  await (await ctx.modelEndpoint(endpoint.baseUrl, key)).complete(endpoint.model);
  return { model, url: endpoint.baseUrl };
}
