import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError, isFailure, isOfKind } from '../base/errors.ts';
import { sourceWords } from '../domain/target-sources.ts';
import type { View, Field } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import type { Account, Server } from '../client/shared/server.ts';
import type { ResolvedTarget } from '../local/profiles/resolve.ts';

/** Everything but the profile is null while it is not known. */
export interface Identity extends Account {
  profile: string | null;
  base_url: string | null;
  base_url_source: string;
  key_source: string | null;
  dialect: string | null;
  dialects: string[];
  version: string | null;
  flavour: string | null;
  features: string[];
  /** Neither known to be present nor absent: the server has no document that acs understands. */
  unknown_features: string[];
}

export const IDENTITY_FIELDS: readonly Field<Identity>[] = [
  { name: 'profile' },
  { name: 'base_url', weight: 0 },
  { name: 'base_url_source' },
  { name: 'key_source' },
  { name: 'dialect' },
  { name: 'dialects', json: { list: true } },
  { name: 'version' },
  { name: 'flavour' },
  { name: 'features', json: { list: true }, show: () => null },
  { name: 'user' },
  { name: 'email' },
  { name: 'organization' },
  { name: 'unknown_features', json: { list: true }, show: () => null },
];

export const identityView: View<Identity> = {
  noun: 'identity',
  id: (it) => it.user ?? '',
  fields: IDENTITY_FIELDS,
  table: [
    'profile',
    'base_url',
    'dialect',
    'version',
    'user',
    'organization',
    'base_url_source',
    'key_source',
  ],
};

export function declare(command: Command, ctx: Context): void {
  command.action(async () => {
    ctx.out.check(identityView, 'item');
    const target = await ctx.servers.target();
    for (const notice of target.notices) await ctx.notice(notice);
    try {
      await ctx.out.item(identityView, await identify(target, ctx));
    } catch (error) {
      if (!isFailure(error) || error.kind === 'internal') throw error;
      // A silent server may be the wrong one; the error of a refused key names the sources already.
      const { base_url: url, key } = sourceWords(target);
      const ofKey = key === null ? 'no key is used' : `the key from ${key}`;
      const sources = `the URL comes from ${url}, ${ofKey}`;
      const { profile, base_url, base_url_source, key_source } = target;
      const { hint, data } = error.details;
      throw error.with({
        hint: error.kind === 'auth' ? hint : [sources, hint].filter(Boolean).join('; '),
        data: { ...data, profile, base_url, base_url_source, key_source },
      });
    }
  });
  explain(command, {
    notes: ['The local service is not started: while it is not running the exit code is 10.'],
    json: ({ objectForm }) => [objectForm(identityView)],
    examples: {
      'acs whoami': 'show the active server',
      'acs --profile local whoami --json': 'show the local service, as JSON',
    },
  });
}

export function identityOf(target: ResolvedTarget): Identity {
  const { profile, base_url, base_url_source, key_source, local } = target;
  return {
    profile,
    base_url,
    base_url_source,
    key_source,
    dialect: null,
    dialects: [],
    version: null,
    flavour: local ? 'local' : null,
    features: [],
    unknown_features: [],
    user: null,
    email: null,
    organization: null,
  };
}

/** Throws `network` when the local service does not run, which is not started, else as the port. */
export async function identify(target: ResolvedTarget, ctx: Context): Promise<Identity> {
  const { base_url, key, local, pid, base_url_source, key_source } = target;
  if (base_url === null) {
    throw new AppError('network', 'the local service is not running', {
      hint: '`acs serve --detach` starts it; so does any command that needs it',
    });
  }
  const sources = { base_url_source, key_source };
  // Not ctx.server(): for the local service that would replace one of another version.
  const startUp = 'once';
  const server = await ctx.servers.connect({ base_url, key, local, pid, sources, startUp });
  const account = await checkKey(server);
  const version = server.info.version ?? target.version ?? null;
  return { ...identityOf(target), ...server.info, version, ...account };
}

/** The probe may be cached; only a request shows that the server accepts the key. Throws `auth`. */
export async function checkKey(server: Server): Promise<Account> {
  try {
    return await server.account();
  } catch (error) {
    if (!isOfKind('unsupported', 'not-found')(error)) throw error;
    return { user: null, email: null, organization: null };
  }
}
