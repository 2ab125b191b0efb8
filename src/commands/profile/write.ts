/** What the verbs that change the store share. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { LOCAL, localRecord, profileRecord, profileView } from './view.ts';

export async function printProfile(ctx: Context, store: ProfileStore, name: string, changed: boolean): Promise<void> {
  const defaultName = await store.defaultName();
  const profile = name === LOCAL ? null : await existingProfile(store, name);
  await ctx.out.item(profileView, profile ? profileRecord(profile, defaultName) : localRecord(defaultName), {
    changed,
  });
}

/** Throws `not-found`. */
export async function existingProfile(store: ProfileStore, name: string) {
  const profile = await store.get(name);
  if (profile) return profile;
  throw new AppError('not-found', `there is no profile ${JSON.stringify(name)}`, {
    hint: '`acs profile list` shows them',
  });
}

/** Throws `usage` for the built-in profile. */
export function refuseLocal(name: string, verb: string): void {
  if (name === LOCAL) throw new AppError('usage', `the built-in profile "local" cannot be ${verb}`);
}

/** The name that the command line gives: as an argument, or with --profile. Throws `usage` for two different ones. */
export function nameOfProfile(given: string | undefined, { globals: { profile } }: Context): string | undefined {
  if (given !== undefined && profile !== undefined && given !== profile)
    throw new AppError('usage', 'two profiles are named: give either the argument or --profile');
  return given ?? profile;
}

/** Prints the built-in profile, unchanged. */
export async function localNeedsNoKey(ctx: Context, notice: string): Promise<void> {
  await printProfile(ctx, await ctx.profiles(), LOCAL, false);
  await ctx.notice(notice);
}
