import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import type { Profile } from '../../profiles/store.ts';
import { KEY_VARIABLES } from '../../text/key-variables.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { LOCAL, profileView } from './view.ts';
import { existingProfile, localNeedsNoKey, nameOfProfile, printProfile } from './write.ts';

export function declareLogout(root: Command, ctx: Context): void {
  const command = root
    .command('logout')
    .argument('[name]', 'name of the profile (default: the active one)')
    .description('remove the stored key of a profile')
    .action(async (name: string | undefined) => logout(name, ctx));
  explain(command, {
    notes: [
      'Without a name the profile is that of --profile, ACS_PROFILE, or the default. The profile and its URL are kept: `acs login <name>` stores a key again, and `acs profile delete` removes the profile. A profile without a key uses ACS_API_KEY. A profile that gets its key from a command keeps that command.',
      'No request is sent: the key stays valid until it expires or is revoked at the server.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    onlyExits: ['usage', 'config', 'not-found'],
    examples: [
      { command: 'acs logout', does: 'remove the key of the active profile' },
      { command: 'acs logout work --json', does: 'remove a key in a script; without a stored key, changed is false' },
    ],
  });
}

async function logout(given: string | undefined, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  const store = await ctx.profiles();
  const name = nameOfProfile(given, ctx) ?? ctx.env.ACS_PROFILE?.trim() ?? (await store.defaultName());
  if (name === null || name === '') throw nothingActive();
  if (name === LOCAL) return await localNeedsNoKey(ctx, 'the local service has no login; its key is its own');
  const profile = await existingProfile(store, name);
  const hasKey = profile.key !== undefined;
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, wouldDo(name, hasKey));
  await printProfile(ctx, store, name, hasKey && (await store.removeKey(name)));
  await noticeWhatRemains(ctx, profile);
}

function wouldDo(name: string, hasKey: boolean): string {
  return hasKey ? `would remove the stored key of profile "${name}"` : `profile "${name}" has no stored key`;
}

function nothingActive(): AppError {
  return new AppError('usage', 'no profile is active', {
    hint: 'name one: acs logout <name>; `acs profile list` shows them',
  });
}

/** Without a stored key a profile uses its command, else the first of the variables. */
async function noticeWhatRemains(ctx: Context, { name, key_command: command }: Profile): Promise<void> {
  const variable = KEY_VARIABLES.find((each) => ctx.env[each]);
  if (command !== undefined) {
    await ctx.notice(`profile "${name}" gets its key from a command, which is kept; \`acs profile delete\` removes it`);
  } else if (variable !== undefined) {
    await ctx.notice(`${variable} is set, and is used with profile "${name}" now`);
  }
}
