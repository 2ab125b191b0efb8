/** Tries a key at its server and stores both as a profile: what `profile add` and `login` have in common. */
import type { Context } from '../../context.ts';
import { sourceWords, type TargetSources } from '../../domain/target-sources.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { NewKey } from '../../profiles/resolve.ts';
import type { Profile, ProfileStore } from '../../profiles/store.ts';
import { printWouldDo } from '../dry-run.ts';
import { checkKey } from '../identity.ts';
import { printProfile } from './write.ts';

export interface NewProfile {
  name: string;
  base_url: string;
  /** Where the URL came from, as in TargetSources. */
  base_url_source: string;
  key: NewKey;
  /** `no`: it is stored without a request to the server. */
  check: 'yes' | 'no';
  /** The next step after a check that failed; null: none. */
  afterFailure: string | null;
  taken: 'refuse' | 'replace';
}

/** Prints the profile. Throws what the check throws, before anything is stored; `conflict` when the name is taken. */
export async function storeProfile(ctx: Context, store: ProfileStore, given: NewProfile): Promise<void> {
  const { name, base_url, key: plan } = given;
  // A password manager is opened only for a check.
  const key = plan.from === 'command' && given.check === 'no' ? null : await ctx.readKey(plan);
  if (given.check === 'yes') await tryKey(ctx, given, key);
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, `would store profile "${name}" for ${base_url}`);
  const profile: Profile = { name, base_url, created_at: new Date(ctx.clock.now()).toISOString() };
  if (plan.from === 'command') profile.key_command = plan.command;
  else if (key !== null) profile.key = key;
  await store.add(profile, given.taken);
  await printProfile(ctx, store, name, true);
  if ((await store.defaultName()) === name) await ctx.notice(`"${name}" is the default profile`);
}

/** The key that --api-key-file names; null without the flag. */
export function keyOfFlag({ globals: { apiKeyFile } }: Context): NewKey | null {
  if (apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  if (apiKeyFile === undefined) return null;
  return apiKeyFile === '-' ? { from: 'stdin' } : { from: 'file', path: apiKeyFile };
}

export async function askForKey(ctx: Context): Promise<NewKey> {
  const value = await (await ctx.prompt()).secret({ message: 'Key (empty: none)' });
  return value.trim() === '' ? { from: 'none' } : { from: 'value', value, source: 'prompt' };
}

async function tryKey(ctx: Context, { key: plan, ...given }: NewProfile, key: string | null): Promise<void> {
  // A profile without a key of its own uses that of the environment.
  const used = key ?? (await environmentKey(ctx));
  const source = plan.from === 'value' ? plan.source : plan.from === 'none' ? 'env:ACS_API_KEY' : plan.from;
  const sources: TargetSources = {
    base_url_source: given.base_url_source,
    key_source: used === null ? null : source,
  };
  try {
    await checkKey(await ctx.connect({ base_url: given.base_url, key: used, sources }));
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    throw notStored(error, { sources, afterFailure: given.afterFailure });
  }
}

async function environmentKey(ctx: Context): Promise<string | null> {
  const value = ctx.env.ACS_API_KEY;
  return value ? await ctx.readKey({ from: 'value', value, source: 'env:ACS_API_KEY' }) : null;
}

function notStored(
  error: AppError,
  { sources, afterFailure }: { sources: TargetSources; afterFailure: string | null },
): AppError {
  const isAuth = error.kind === 'auth';
  const next = [isAuth && sources.key_source === null ? 'give a key with --api-key-file' : null, afterFailure].filter(
    (step) => step !== null,
  );
  const hint = [
    isAuth ? `the URL comes from ${sourceWords(sources).base_url}` : null,
    'nothing was stored',
    next.length === 0 ? null : next.join(', or '),
  ];
  return new AppError(error.kind, error.message, {
    ...error.details,
    hint: hint.filter((part) => part !== null).join('; '),
    cause: error,
  });
}
