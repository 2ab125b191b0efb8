import type { Context } from '../context.ts';
import { isFailure } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { RequestedSettings } from '../../domain/settings-diff.ts';
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../domain/settings.ts';
import {
  API_MODE,
  callsModelFromHere,
  modelOf,
  tryModel,
  type ModelSettings,
} from '../shared/model-check.ts';
import { requireField } from './values.ts';

/** A stored key is used at its own origin alone. Throws as tryModel; `check` calls the model. */
export async function modelChange(
  ctx: Context,
  {
    server,
    fields,
    snapshot,
  }: { server: Server; fields: readonly SettingsField[]; snapshot: SettingsSnapshot },
  { set, unset }: RequestedSettings,
  check: boolean,
): Promise<RequestedSettings> {
  const changed: Record<string, JsonValue> = Object.fromEntries([
    ...[...set].map(([{ name }, value]) => [name, value] as const),
    ...unset.map(({ name }) => [name, null] as const),
  ]);
  const isMoved = ['llm_model', 'llm_base_url', API_MODE].some((name) => name in changed);
  const key = changed['llm_api_key'];
  if (server.info.flavour !== 'local' || !(isMoved || key)) return { set, unset };
  const after = modelOf({ values: { ...snapshot.values, ...changed } });
  if (key !== undefined) after.llm_api_key = String(key ?? '') || null;
  const change = { set: new Map(set), unset: [...unset] };
  const origin = await originOf(ctx, modelOf(snapshot));
  const isStored = key === undefined && snapshot.secrets['llm_api_key'] === 'set';
  if (isStored && origin !== null && origin !== (await originOf(ctx, after))) {
    await ctx.notice(`llm_api_key: the stored key is removed, because it is for ${origin}`);
    after.llm_api_key = null;
    change.unset.push(requireField(fields, 'llm_api_key'));
  }
  if (!check || after.llm_model === '' || !(await callsModelFromHere(ctx, server))) return change;
  const name = await checkedName(ctx, after);
  if (name !== after.llm_model) {
    await ctx.notice(
      `llm_model: the endpoint lists ${after.llm_model}, which is stored as ${name}`,
    );
    change.set.set(requireField(fields, 'llm_model'), name);
  }
  return change;
}

async function checkedName(ctx: Context, model: ModelSettings): Promise<string> {
  const progress = await ctx.terminal.progress('calling the model', 'nothing');
  try {
    const { llm_model, warning } = await tryModel(ctx, model);
    if (warning !== null) await ctx.warn(`${warning.text}; ${warning.hint}`);
    return llm_model;
  } catch (error) {
    if (!isFailure(error)) throw error;
    const next =
      error.kind === 'auth'
        ? 'give the key in the same command: llm_api_key=-'
        : error.details.hint;
    const hint = [next, 'nothing was stored; --no-check stores it without a call'];
    throw error.with({ hint: hint.filter(Boolean).join('\n') });
  } finally {
    await progress.done();
  }
}

/** Null: the URL of the model is not known. */
async function originOf(
  ctx: Context,
  { llm_model, llm_base_url }: ModelSettings,
): Promise<string | null> {
  const service = await ctx.local.service();
  // A URL is that of the key also before a model is set.
  const found = await service.modelEndpoint({ model: llm_model || 'none', base_url: llm_base_url });
  return found !== null && URL.canParse(found.baseUrl) ? new URL(found.baseUrl).origin : null;
}
