/** Nothing is read, run or started here: a plan names the place of the key, key.ts reads it. */
import { AppError, type ErrorKind } from '../../base/errors.ts';
import { withLoopbackScheme } from '../../base/loopback.ts';
import { KEY_VARIABLES } from '../../base/text/secret-names.ts';
import { cut } from '../../base/text/well-formed.ts';

/** The built-in profile, never stored. */
export const LOCAL_PROFILE = 'local';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function checkNewProfileName(name: string): void {
  if (name === LOCAL_PROFILE) {
    throw new AppError('usage', '"local" is the built-in profile of the local service', {
      hint: 'choose another name',
    });
  }
  if (!NAME.test(name)) {
    throw new AppError('usage', `${JSON.stringify(cut(name, 80))} is not a valid profile name`, {
      hint:
        'use 1 to 64 letters, digits, dots, dashes and underscores, starting with a letter ' +
        'or digit',
    });
  }
}

export function isProfileName(name: string): boolean {
  return name !== LOCAL_PROFILE && NAME.test(name);
}

/** The pages of the web interface: a URL that was copied from a browser is cut to its server. */
const PAGE = /(\/canvas)?\/(conversations|settings|shared|login|automations)(\/.*)?$/;

/** `kind`: `usage` for a flag, else `config`. Credentials in a URL are never repeated. */
export function normalizeServerUrl(text: string, source: string, kind: ErrorKind): string {
  const trimmed = withLoopbackScheme(text.trim());
  const refuse = (why: string, hint = 'give one such as https://acs.example.com') =>
    new AppError(kind, `${source}: ${why}`, { hint });
  if (trimmed === '') throw refuse('the URL is empty');
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed)) {
    throw refuse('the URL has no scheme', 'begin it with https:// or http://');
  }
  if (!URL.canParse(trimmed)) throw refuse('this is not a URL');
  const { protocol, username, password, search, hash, origin, pathname } = new URL(trimmed);
  const path = pathname.replace(PAGE, '');
  if (protocol !== 'https:' && protocol !== 'http:')
    throw refuse(`${protocol}// is not http:// or https://`);
  if (username + password !== '') {
    throw refuse('the URL has a user name or password', 'omit them: the key is given separately');
  }
  if (path === pathname && search + hash !== '') {
    throw refuse('the URL has a query or fragment', 'give the URL of the server without them');
  }
  return `${origin}${path.replace(/\/+$/, '')}`;
}

export interface ResolvedTarget {
  /** Null for `local` while its service does not run. */
  base_url: string | null;
  /** What caches are kept under: the origin, or `local`, whose port changes. */
  origin: string;
  /** `flag`, `profile:<name>`, `env:ACS_BASE_URL`, `default`, `built-in`. */
  base_url_source: string;
  /** Null for a bare URL. */
  profile: string | null;
  key: string | null;
  /** `file`, `stdin`, `profile:<name>`, `command`, `env:<NAME>`, `local`, null without a key. */
  key_source: string | null;
  local: boolean;
  /** The local service has it while it runs. */
  pid?: number | undefined;
  version?: string | undefined;
  notices: string[];
}

export type NewKey =
  | { from: 'none' }
  | { from: 'value'; value: string; source: string }
  | { from: 'file'; path: string }
  | { from: 'stdin' }
  | { from: 'command'; command: string };

/** That of the local service has no key: the service has it while it runs. */
export type TargetPlan = Omit<ResolvedTarget, 'key' | 'key_source'> & { key: NewKey };

export interface TargetQuery {
  profile?: string;
  baseUrl?: string;
  apiKeyFile?: string;
  env: NodeJS.ProcessEnv;
  offTerminal: boolean;
}

export interface Profile {
  name: string;
  base_url: string;
  /** A profile has at most one of key and key_command. */
  key?: string;
  key_command?: string;
  created_at: string;
}

export interface StoredProfiles {
  profiles: readonly Profile[];
  defaultName: string | null;
}

/** Called only when needed: a corrupt store does not stop a command that names its URL. */
export type LoadProfiles = () => Promise<StoredProfiles>;

const CHECKED_VARIABLES = ['ACS_BASE_URL', 'ACS_PROFILE', 'ACS_API_KEY'] as const;

function emptyVariable(name: string): AppError {
  return new AppError('config', `${name} is set but empty`, {
    hint: `give it a value, or unset it: unset ${name}`,
  });
}

/** Throws `usage` for wrong flags, `config` when there is no usable server. */
export async function planTarget(query: TargetQuery, load: LoadProfiles): Promise<TargetPlan> {
  const { env } = query;
  // A job that lost the value of a variable must not use another server.
  const empty = CHECKED_VARIABLES.find((name) => env[name]?.trim() === '');
  if (empty !== undefined) throw emptyVariable(empty);
  if (query.apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  const named = query.profile?.trim();
  if (named === '') {
    throw new AppError('usage', '--profile: the name is empty', {
      hint: 'list the profiles: acs profile list',
    });
  }
  if (query.baseUrl !== undefined) {
    const url = normalizeServerUrl(query.baseUrl, '--base-url', 'usage');
    return planUrl(query, url, 'flag', named, load);
  }
  if (named !== undefined) return planProfile(query, named, `profile:${named}`, load);
  if (env.ACS_BASE_URL !== undefined) {
    const url = normalizeServerUrl(env.ACS_BASE_URL, 'ACS_BASE_URL', 'config');
    return planUrl(query, url, 'env:ACS_BASE_URL', env.ACS_PROFILE?.trim(), load);
  }
  if (env.ACS_PROFILE !== undefined) {
    return planProfile(query, env.ACS_PROFILE.trim(), `profile:${env.ACS_PROFILE.trim()}`, load);
  }
  const { defaultName } = await load();
  if (defaultName !== null) return planProfile(query, defaultName, 'default', load);
  const given =
    query.apiKeyFile !== undefined
      ? '--api-key-file'
      : KEY_VARIABLES.find((name) => env[name] !== undefined);
  if (given !== undefined) {
    throw new AppError('config', `${given} gives a key, but no server is given`, {
      hint: 'give its server with ACS_BASE_URL or --profile; --profile local needs no key',
    });
  }
  if (query.offTerminal) {
    throw new AppError(
      'config',
      'no server is configured, and there is no default outside a terminal',
      {
        hint: 'set ACS_BASE_URL and ACS_API_KEY, or use the local service with --profile local',
      },
    );
  }
  return planLocal(query, 'built-in');
}

async function planUrl(
  query: TargetQuery,
  baseUrl: string,
  source: string,
  name: string | undefined,
  load: LoadProfiles,
): Promise<TargetPlan> {
  const { origin } = new URL(baseUrl);
  const plan = { base_url: baseUrl, origin, base_url_source: source, profile: null, local: false };
  const withoutProfile = (...reasons: string[]): TargetPlan => {
    const { key, notices } = planKey(query, null);
    return { ...plan, key, notices: [...reasons, ...notices] };
  };
  if (name === undefined) return withoutProfile();
  if (name === LOCAL_PROFILE) {
    const given = source === 'flag' ? '--base-url' : 'ACS_BASE_URL';
    return withoutProfile(`the profile "local" is not used, because ${given} names the server`);
  }
  const profile = await findProfile(name, load);
  const { origin: itsOrigin } = new URL(profile.base_url);
  if (itsOrigin === origin) return { ...plan, profile: name, ...planKey(query, profile) };
  if (profile.key === undefined && profile.key_command === undefined) return withoutProfile();
  return withoutProfile(
    `the key of profile "${name}" belongs to ${itsOrigin} and is not sent to ${origin}`,
  );
}

async function planProfile(
  query: TargetQuery,
  name: string,
  source: string,
  load: LoadProfiles,
): Promise<TargetPlan> {
  if (name === LOCAL_PROFILE) return planLocal(query, source);
  const profile = await findProfile(name, load);
  const baseUrl = normalizeServerUrl(profile.base_url, `profile "${name}"`, 'config');
  return {
    base_url: baseUrl,
    origin: new URL(baseUrl).origin,
    base_url_source: source,
    profile: name,
    local: false,
    ...planKey(query, profile),
  };
}

function planLocal(query: TargetQuery, source: string): TargetPlan {
  if (query.apiKeyFile !== undefined) {
    throw new AppError('usage', 'the local service accepts only its own key', {
      hint: 'omit --api-key-file',
    });
  }
  return {
    base_url: null,
    origin: LOCAL_PROFILE,
    base_url_source: source,
    profile: LOCAL_PROFILE,
    local: true,
    key: { from: 'none' },
    notices: unusedKey(query.env, 'the local service accepts only its own key'),
  };
}

/** `profile`: the one whose key may be sent to this server. */
function planKey(
  { apiKeyFile, env }: TargetQuery,
  profile: Profile | null,
): { key: NewKey; notices: string[] } {
  if (apiKeyFile !== undefined) {
    const key: NewKey = apiKeyFile === '-' ? { from: 'stdin' } : { from: 'file', path: apiKeyFile };
    return { key, notices: unusedKey(env, '--api-key-file gives the key') };
  }
  if (profile?.key_command !== undefined || profile?.key !== undefined) {
    const { name, key, key_command: command } = profile;
    const notices = unusedKey(env, `profile "${name}" has its own key`);
    if (command !== undefined) return { key: { from: 'command', command }, notices };
    return { key: { from: 'value', value: key ?? '', source: `profile:${name}` }, notices };
  }
  const name = KEY_VARIABLES.find((each) => env[each] !== undefined);
  if (name === undefined) return { key: { from: 'none' }, notices: [] };
  const value = env[name] ?? '';
  if (value.trim() === '') throw emptyVariable(name);
  return { key: { from: 'value', value, source: `env:${name}` }, notices: [] };
}

function unusedKey(env: TargetQuery['env'], why: string): string[] {
  const name = KEY_VARIABLES.find((each) => env[each] !== undefined);
  return name === undefined ? [] : [`${name} is set but not used: ${why}`];
}

async function findProfile(name: string, load: LoadProfiles): Promise<Profile> {
  const { profiles } = await load();
  const found = profiles.find((profile) => profile.name === name);
  if (found) return found;
  const known = [...profiles.map((profile) => profile.name), LOCAL_PROFILE].join(', ');
  throw new AppError('config', `no profile ${JSON.stringify(name)}`, {
    hint: `profiles: ${known}; add one: acs login <name> --base-url <url>`,
  });
}
