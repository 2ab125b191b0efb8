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
