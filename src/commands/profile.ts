import type { Command } from 'commander';
import type { Context } from './context.ts';
import { derivedContext } from './shared/derived-context.ts';
import { AppError, isFailure } from '../base/errors.ts';
import type { Profile } from '../local/profiles/resolve.ts';
import type { ProfileStore } from '../local/profiles/store.ts';
import type { View } from '../output/view.ts';
import { changeEach, confirmAll, printWouldDo, type Change } from './shared/bulk.ts';
import { readChosen } from './shared/resource.ts';
import { explain } from './shared/declare.ts';
import { identify, IDENTITY_FIELDS, identityOf, type Identity } from './whoami.ts';

/** The built-in profile; it cannot be stored, renamed or deleted. */
export const LOCAL = 'local';

interface ProfileRecord {
  name: string;
  /** Null for `local`, whose port is not known beforehand. */
  base_url: string | null;
  default: boolean;
  /** `profile:<name>`, `command`, `local`; null when it has no key of its own. */
  key_source: string | null;
  created_at: string | null;
}

export const profileView: View<ProfileRecord> = {
  noun: 'profile',
  id: (it) => it.name,
  fields: [
    { name: 'name', weight: 0 },
    { name: 'base_url', weight: 3 },
    { name: 'default' },
    { name: 'key_source' },
    { name: 'created_at', as: 'time' },
  ],
  table: ['name', 'base_url', 'default', 'key_source'],
};

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
    { name: 'name' },
    { name: 'default' },
    { name: 'created_at', as: 'time' },
    ...IDENTITY_FIELDS.filter((field) => field.name !== 'profile'),
    { name: 'error', json: { members: ['code', 'message'] } },
  ],
  table: [
    'name',
    'base_url',
    'default',
    'key_source',
    'base_url_source',
    'dialect',
    'version',
    'user',
    'organization',
  ],
  tsv: [
    'name',
    'base_url',
    'default',
    'key_source',
    'created_at',
    'base_url_source',
    'dialect',
    'version',
    'user',
  ],
};

export function declare(profile: Command, ctx: Context): void {
  declareList(profile, ctx);
  declareShow(profile, ctx);
  declareUse(profile, ctx);
  declareRename(profile, ctx);
  declareDelete(profile, ctx);
}

function declareList(parent: Command, ctx: Context): void {
  const command = parent
    .command('list')
    .alias('ls')
    .description('list the profiles')
    .action(async () => {
      ctx.out.check(profileView, 'list');
      const store = await ctx.profiles.store();
      const defaultName = await store.defaultName();
      const items = (await store.list()).map((profile) =>
        profileRecord(profile.name, profile, defaultName),
      );
      await ctx.out.list(profileView, [...items, profileRecord(LOCAL, null, defaultName)], {
        has_more: false,
      });
    });
  explain(command, {
    json: ({ listForm }) => [listForm(profileView)],
    examples: {
      'acs profile list': 'list all profiles, the built-in one last; keys are never shown',
      'acs profile list -q': 'print the names',
    },
  });
}

function declareShow(parent: Command, ctx: Context): void {
  const command = parent
    .command('show [name]')
    .aliases(['view', 'get'])
    .description('show a profile, its server, and the source of URL and key')
    .action(async (name: string | undefined) => {
      ctx.out.check(showView, 'item');
      const store = await ctx.profiles.store();
      if (name !== undefined) await existing(store, name);
      const server = name === undefined ? {} : { profile: name, baseUrl: undefined };
      const own = derivedContext(ctx, { server });
      const target = await own.servers.target();
      for (const notice of target.notices) await ctx.notice(notice);
      let identity = identityOf(target);
      let problem: ShownProfile['error'] = null;
      try {
        identity = await identify(target, own);
      } catch (error) {
        // Reading the profile worked, whatever its server answers.
        if (!isFailure(error) || error.kind === 'internal') throw error;
        await ctx.warn(error.message);
        problem = { code: error.kind, message: error.message };
      }
      const stored = target.profile === null ? null : await store.get(target.profile);
      await ctx.out.item(showView, {
        ...identity,
        name: target.profile,
        default: target.profile !== null && (await store.defaultName()) === target.profile,
        created_at: stored?.created_at ?? null,
        error: problem,
      });
    });
  explain(command, {
    notes: [
      'Without a name the active profile is shown. When the server cannot be reached a ' +
        'warning is printed, and the other members are shown.',
    ],
    json: ({ objectForm }) => [objectForm(showView)],
    exits: ['not-found'],
    examples: {
      'acs profile show': 'show the active profile',
      'acs profile show local --json':
        'show the built-in profile, without starting the local service',
    },
  });
}

function declareUse(parent: Command, ctx: Context): void {
  const command = parent
    .command('use <name>')
    .description('set the default profile')
    .action(async (name: string) => {
      ctx.out.check(profileView, 'item');
      const store = await ctx.profiles.store();
      await existing(store, name);
      if (ctx.globals.mode === 'dry-run')
        return await printWouldDo(ctx, `would make "${name}" the default profile`);
      const changed = (await store.defaultName()) !== name;
      if (changed) await store.setDefault(name);
      const line = `${name} ${changed ? 'is' : 'was already'} the default profile`;
      await printProfile(ctx, store, name, changed, line);
    });
  explain(command, {
    notes: ['--profile, ACS_BASE_URL and ACS_PROFILE take precedence over the default.'],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['not-found'],
    examples: {
      'acs profile use work': 'use this server in commands without --profile',
      'acs profile use local': 'use the local service, also outside a terminal',
    },
  });
}

function declareRename(parent: Command, ctx: Context): void {
  const command = parent
    .command('rename <name> <new-name>')
    .description('rename a profile')
    .action(async (from: string, to: string) => {
      ctx.out.check(profileView, 'item');
      refuseLocal(from, 'renamed');
      const store = await ctx.profiles.store();
      if (ctx.globals.mode === 'dry-run') {
        await existing(store, from);
        return await printWouldDo(ctx, `would rename profile "${from}" to "${to}"`);
      }
      await store.rename(from, to);
      await printProfile(ctx, store, to, from !== to, `renamed ${from} to ${to}`);
    });
  explain(command, {
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['not-found', 'conflict'],
    examples: {
      'acs profile rename work staging': 'rename a profile; a default stays the default',
      'acs profile rename work staging --json': 'print the profile with its new name',
    },
  });
}

function declareDelete(parent: Command, ctx: Context): void {
  const command = parent
    .command('delete <name...>')
    .aliases(['rm', 'remove'])
    .description('delete profiles and their stored keys')
    .option('--ignore-not-found', 'succeed when a profile does not exist')
    .action(async (given: string[], options: { ignoreNotFound?: boolean }) => {
      const { single, words: names } = await readChosen(ctx, profileView, given);
      for (const name of names) refuseLocal(name, 'deleted');
      const store = await ctx.profiles.store();
      const defaultName = await store.defaultName();
      const known = new Set((await store.list()).map(({ name }) => name));
      const [only = ''] = names;
      if (single && !options.ignoreNotFound) await existing(store, only);
      const present = names.filter((name) => known.has(name));
      await confirmAll(ctx, 'Delete', present, {
        one: (name) => `profile "${name}" and its key`,
        several: 'profiles and their keys',
        preview: present.length === 1 ? [] : present.map((name) => `profile ${name}`),
      });
      const apply = async ({ id: name }: { id: string }): Promise<Change<ProfileRecord>> => {
        const profile = await store.get(name);
        const record = profileRecord(name, profile, defaultName);
        if (profile === null && options.ignoreNotFound)
          return { changed: false, before: null, after: null, record };
        if (ctx.globals.mode === 'live') await store.remove(name);
        else await ctx.notice(`would delete profile "${name}"`);
        return { changed: true, before: 'present', after: null, record };
      };
      // One at a time: they share one file.
      const targets = names.map((id) => ({ id }));
      const of = { single, targets, pastTense: 'deleted', concurrency: 1 };
      await changeEach(ctx, profileView, { ...of, apply });
      if (defaultName !== null && (await store.defaultName()) === null)
        await ctx.notice('there is no default profile now; `acs profile use <name>` sets one');
    });
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The name - reads names from stdin. The ' +
        'keys stay valid until they are revoked at the server. After the default is deleted ' +
        'there is no default.',
    ],
    json: ({ changeForms }) => changeForms(profileView, ['one name', 'several names']),
    exits: ['failed', 'not-found'],
    examples: {
      'acs profile delete work': 'delete one profile after a question',
      'acs profile delete work home -y --ignore-not-found': 'delete two profiles in a script',
    },
  });
}

export async function printProfile(
  ctx: Context,
  store: ProfileStore,
  name: string,
  changed: boolean,
  line?: string,
): Promise<void> {
  const record = profileRecord(name, await existing(store, name), await store.defaultName());
  if (line === undefined) await ctx.out.item(profileView, record, { changed });
  else await ctx.out.change(profileView, record, changed, line);
}

/** Null for `local`. Throws `not-found`. */
export async function existing(store: ProfileStore, name: string): Promise<Profile | null> {
  if (name === LOCAL) return null;
  const profile = await store.get(name);
  if (profile !== null) return profile;
  throw new AppError('not-found', `no profile ${JSON.stringify(name)}`, {
    hint: 'list the profiles: acs profile list',
  });
}

/** @param profile null for `local`, and for one that does not exist */
function profileRecord(
  name: string,
  profile: Profile | null,
  defaultName: string | null,
): ProfileRecord {
  const ofStored = profile?.key === undefined ? null : `profile:${name}`;
  const own = profile?.key_command === undefined ? ofStored : 'command';
  return {
    name,
    base_url: profile?.base_url ?? null,
    default: name === defaultName,
    key_source: name === LOCAL ? 'local' : own,
    created_at: profile?.created_at ?? null,
  };
}

function refuseLocal(name: string, verb: string): void {
  if (name === LOCAL) throw new AppError('usage', `the built-in profile "local" cannot be ${verb}`);
}
