import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { isAppError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import type { ResolvedTarget } from '../../profiles/resolve.ts';
import { explain } from '../declare.ts';
import { identify, IDENTITY_FIELDS, identityOf, type Identity } from '../identity.ts';
import { LOCAL } from './view.ts';
import { existingProfile } from './write.ts';

interface ShownProfile extends Identity {
  name: string | null;
  default: boolean;
  created_at: string | null;
  /** Why the server could not be read; null when it answered. */
  error: { code: string; message: string } | null;
}

export const showView: View<ShownProfile> = {
  noun: 'profile status',
  id: (it) => it.name ?? '',
  fields: [
    { name: 'name', get: (it) => it.name },
    { name: 'default', get: (it) => it.default },
    { name: 'created_at', get: (it) => it.created_at, as: 'time' },
    ...IDENTITY_FIELDS.filter((field) => field.name !== 'profile'),
    { name: 'error', get: (it) => it.error, json: { members: ['code', 'message'] } },
  ],
  table: ['name', 'base_url', 'default', 'key_source'],
  tsv: ['name', 'base_url', 'default', 'key_source', 'created_at', 'base_url_source', 'dialect', 'version', 'user'],
};

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent
    .command('show [name]')
    .aliases(['view', 'get'])
    .description('show a profile, its server, and the source of URL and key')
    .action(async (name: string | undefined) => showProfile(name, ctx));
  explain(command, {
    notes: [
      'Without a name the active profile is shown. When the server cannot be reached a warning is printed, and the other members are shown.',
    ],
    json: ({ objectForm }) => [objectForm(showView)],
    exits: ['not-found'],
    examples: [
      { command: 'acs profile show', does: 'show the active profile' },
      {
        command: 'acs profile show local --json',
        does: 'show the built-in profile, without starting the local service',
      },
    ],
  });
}

async function showProfile(name: string | undefined, ctx: Context): Promise<void> {
  ctx.out.check(showView, 'item');
  const store = await ctx.profiles();
  if (name !== undefined) {
    if (name !== LOCAL) await existingProfile(store, name);
    ctx.globals = { ...ctx.globals, profile: name, baseUrl: undefined };
  }
  const target = await ctx.target();
  for (const notice of target.notices) await ctx.notice(notice);
  const stored = target.profile === null ? null : await store.get(target.profile);
  await ctx.out.item(showView, {
    ...(await look(target, ctx)),
    name: target.profile,
    default: target.profile !== null && (await store.defaultName()) === target.profile,
    created_at: stored?.created_at ?? null,
  });
}

/** Reading the profile worked, whatever its server answers. */
async function look(target: ResolvedTarget, ctx: Context): Promise<Identity & Pick<ShownProfile, 'error'>> {
  try {
    return { ...(await identify(target, ctx)), error: null };
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted' || error.kind === 'internal') throw error;
    await ctx.warn(error.message);
    return { ...identityOf(target), error: { code: error.kind, message: error.message } };
  }
}
