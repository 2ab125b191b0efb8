/** Who a server takes one for, and what it is: what `whoami` and `profile show` have in common. */
import type { Context } from '../context.ts';
import { AppError, isAppError } from '../errors.ts';
import type { Field } from '../output/view.ts';
import type { ResolvedTarget } from '../profiles/resolve.ts';
import type { Account, Server } from '../servers/server.ts';

/** Everything but the profile is null while it is not known. */
export interface Identity {
  profile: string | null;
  base_url: string | null;
  /** Where the URL came from: `flag`, `profile:<name>`, `env:ACS_BASE_URL`, `default`, `built-in`. */
  base_url_source: string;
  /** Where the key came from: `file`, `stdin`, `profile:<name>`, `command`, `env:<NAME>`, `local`. The key itself never. */
  key_source: string | null;
  dialect: string | null;
  dialects: string[];
  version: string | null;
  flavour: string | null;
  features: string[];
  /** Neither known to be there nor known to be missing: the server gives no document that acs understands. */
  unknown_features: string[];
  user: string | null;
  email: string | null;
  organization: string | null;
}

export const IDENTITY_FIELDS: readonly Field<Identity>[] = [
  { name: 'profile', get: (it) => it.profile },
  { name: 'base_url', get: (it) => it.base_url, weight: 0 },
  { name: 'base_url_source', get: (it) => it.base_url_source },
  { name: 'key_source', get: (it) => it.key_source },
  { name: 'dialect', get: (it) => it.dialect },
  { name: 'dialects', get: (it) => it.dialects, json: { list: true } },
  { name: 'version', get: (it) => it.version },
  { name: 'flavour', get: (it) => it.flavour },
  { name: 'features', get: (it) => it.features, json: { list: true } },
  { name: 'user', get: (it) => it.user },
  { name: 'email', get: (it) => it.email },
  { name: 'organization', get: (it) => it.organization },
  { name: 'unknown_features', get: (it) => it.unknown_features, json: { list: true } },
];

/** What is known without asking the server. */
export function identityOf(target: ResolvedTarget): Identity {
  return {
    profile: target.profile,
    base_url: target.base_url,
    base_url_source: target.base_url_source,
    key_source: target.key_source,
    dialect: null,
    dialects: [],
    version: null,
    flavour: target.local ? 'local' : null,
    features: [],
    unknown_features: [],
    user: null,
    email: null,
    organization: null,
  };
}

/**
 * Reads from the server. Throws `network` when the local service does not run: this is one of the commands that never start
 * it; else what the server's port throws.
 */
export async function identify(target: ResolvedTarget, ctx: Context): Promise<Identity> {
  const known = identityOf(target);
  if (target.base_url === null) {
    throw new AppError('network', 'the local service is not running', {
      hint: '`acs serve --detach` starts it; so does any command that needs it',
    });
  }
  // Not ctx.server(): for the local service that would replace one of another version.
  const { base_url, key, local, base_url_source, key_source } = target;
  const server = await ctx.connect({ base_url, key, local, sources: { base_url_source, key_source } });
  const account = await checkKey(server);
  const { dialect, dialects, flavour, features, unknown_features, base_url: baseUrl } = server.info;
  const version = server.info.version ?? (target.local ? await localVersion(ctx) : null);
  return { ...known, base_url: baseUrl, dialect, dialects, version, flavour, features, unknown_features, ...account };
}

async function localVersion(ctx: Context): Promise<string | null> {
  return (await (await ctx.localService()).status()).version;
}

/** What a probe has learnt may be remembered; a key is only known to work when a request went out with it. */
export async function checkKey(server: Server): Promise<Account> {
  await server.conversations.list({ pageSize: 1 }, null);
  try {
    return await server.account();
  } catch (error) {
    if (isAppError(error) && (error.kind === 'unsupported' || error.kind === 'not-found')) {
      return { user: null, email: null, organization: null };
    }
    throw error;
  }
}
