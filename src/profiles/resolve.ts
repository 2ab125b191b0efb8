/**
 * Which server and which key (`acs help environment`), as a pure reading of flags, variables and stored profiles.
 * Nothing is read, run or started here: a plan names the place of the key, key.ts reads it.
 */
import { AppError } from '../errors.ts';
import { KEY_VARIABLES } from '../text/key-variables.ts';
import { LOCAL_PROFILE } from './names.ts';
import { normalizeServerUrl, originOf } from './url.ts';
import type { Profile } from './store.ts';

export interface ResolvedTarget {
  /** Normalized, see url.ts; null for `local` while its service does not run. */
  base_url: string | null;
  /** What caches are kept under: the origin, or `local`, whose port changes. */
  origin: string;
  /** `flag`, `profile:<name>`, `env:ACS_BASE_URL`, `default`, `built-in`. */
  base_url_source: string;
  /** Name of the active profile; null for a bare URL. */
  profile: string | null;
  key: string | null;
  /** `file`, `stdin`, `profile:<name>`, `command`, `env:<NAME>`, `local`, null without a key. */
  key_source: string | null;
  /** True for the built-in profile of the local service. */
  local: boolean;
  /** Defaults the profile carries. */
  defaults: Record<string, string>;
  /** Notices for stderr, e.g. that ACS_API_KEY is set and not used. */
  notices: string[];
}

/** Where a key is to be had. */
export type KeyPlan =
  | { from: 'none' }
  | { from: 'value'; value: string; source: string }
  | { from: 'file'; path: string }
  | { from: 'stdin' }
  | { from: 'command'; command: string }
  | { from: 'local' };

/** A key that belongs to no server yet. */
export type NewKey = Exclude<KeyPlan, { from: 'local' }>;

export type TargetPlan = Omit<ResolvedTarget, 'key' | 'key_source'> & { key: KeyPlan };

export interface TargetQuery {
  /** The global flags as given; undefined = not given. */
  profile?: string;
  baseUrl?: string;
  apiKeyFile?: string;
  env: Readonly<Record<string, string | undefined>>;
  offTerminal: boolean;
}

export interface StoredProfiles {
  profiles: readonly Profile[];
  defaultName: string | null;
}

/** Called only when the answer depends on the store: a corrupt one does not stop a command that names its URL. */
export type LoadProfiles = () => Promise<StoredProfiles>;

const CHECKED_VARIABLES = ['ACS_BASE_URL', 'ACS_PROFILE', 'ACS_API_KEY'] as const;
const ONE_TARGET_HINT = 'lists and bulk commands take several profiles';

/** The plan for one server. Throws `usage` for a list of profiles, else as planTargets. */
export async function planTarget(query: TargetQuery, load: LoadProfiles): Promise<TargetPlan> {
  const plans = await planTargets(query, load);
  const [plan] = plans;
  if (plan === undefined || plans.length > 1) {
    throw new AppError('usage', 'this command takes one profile', { hint: ONE_TARGET_HINT });
  }
  return plan;
}

/**
 * One plan for each name in `--profile a,b,c`, or the active one. Throws `usage` for wrong flags, `config`
 * when there is no usable server.
 */
export async function planTargets(query: TargetQuery, load: LoadProfiles): Promise<TargetPlan[]> {
  checkVariables(query.env);
  const names = query.profile === undefined ? [] : splitProfileNames(query.profile);
  if (names.length > 1) {
    if (query.baseUrl !== undefined) throw new AppError('usage', '--base-url cannot be combined with several profiles');
    if (query.apiKeyFile !== undefined) {
      throw new AppError(
        'usage',
        '--api-key-file cannot be combined with several profiles: the key would be sent to several servers',
      );
    }
  }
  if (query.apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  if (names.length === 0) return [await planOne(query, undefined, load)];
  const plans: TargetPlan[] = [];
  for (const name of names) plans.push(await planOne(query, name, load));
  return plans;
}

/** The names in `a,b,c`, each once. Throws `usage` for an empty one. */
export function splitProfileNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) {
    throw new AppError('usage', `--profile: empty name in "${text}"`, {
      hint: 'list the profiles: acs profile list',
    });
  }
  return [...new Set(names)];
}

/** A variable that is set but empty is an error: a job that lost its value must not use another server. */
function checkVariables(env: TargetQuery['env']): void {
  for (const name of CHECKED_VARIABLES) {
    if (env[name]?.trim() === '') {
      throw new AppError('config', `${name} is set but empty`, { hint: `give it a value, or unset it: unset ${name}` });
    }
  }
}

async function planOne(query: TargetQuery, named: string | undefined, load: LoadProfiles): Promise<TargetPlan> {
  const { env } = query;
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
  refuseKeyWithoutServer(query);
  if (query.offTerminal) throw nothingConfigured();
  return planLocal(query, 'built-in');
}

async function planUrl(
  query: TargetQuery,
  baseUrl: string,
  source: string,
  profileName: string | undefined,
  load: LoadProfiles,
): Promise<TargetPlan> {
  const origin = originOf(baseUrl);
  const plan = { base_url: baseUrl, origin, base_url_source: source, profile: null, local: false, defaults: {} };
  if (profileName === undefined) return { ...plan, ...planKey(query, null) };
  if (profileName === LOCAL_PROFILE) {
    const chosen = planKey(query, null);
    const notice = `the profile "${LOCAL_PROFILE}" is not used, because ${source === 'flag' ? '--base-url' : 'ACS_BASE_URL'} names the server`;
    return { ...plan, ...chosen, notices: [notice, ...chosen.notices] };
  }
  const profile = await findProfile(profileName, load);
  if (originOf(profile.base_url) !== origin) {
    const chosen = planKey(query, null);
    const notice = `the key of profile "${profileName}" belongs to ${originOf(profile.base_url)} and is not sent to ${origin}`;
    return { ...plan, ...chosen, notices: [...(hasKey(profile) ? [notice] : []), ...chosen.notices] };
  }
  return { ...plan, profile: profileName, defaults: profile.defaults ?? {}, ...planKey(query, profile) };
}

async function planProfile(query: TargetQuery, name: string, source: string, load: LoadProfiles): Promise<TargetPlan> {
  if (name === LOCAL_PROFILE) return planLocal(query, source);
  const profile = await findProfile(name, load);
  const baseUrl = normalizeServerUrl(profile.base_url, `profile "${name}"`, 'config');
  return {
    base_url: baseUrl,
    origin: originOf(baseUrl),
    base_url_source: source,
    profile: name,
    local: false,
    defaults: profile.defaults ?? {},
    ...planKey(query, profile),
  };
}

function planLocal(query: TargetQuery, source: string): TargetPlan {
  if (query.apiKeyFile !== undefined) {
    throw new AppError('usage', 'the local service accepts only its own key', { hint: 'omit --api-key-file' });
  }
  return {
    base_url: null,
    origin: LOCAL_PROFILE,
    base_url_source: source,
    profile: LOCAL_PROFILE,
    local: true,
    defaults: {},
    key: { from: 'local' },
    notices: unusedKey(query.env, 'the local service accepts only its own key'),
  };
}

/** @param profile the one whose key may be sent to this server */
function planKey(query: TargetQuery, profile: Profile | null): { key: KeyPlan; notices: string[] } {
  const { apiKeyFile, env } = query;
  if (apiKeyFile !== undefined) {
    const key: KeyPlan = apiKeyFile === '-' ? { from: 'stdin' } : { from: 'file', path: apiKeyFile };
    return { key, notices: unusedKey(env, '--api-key-file gives the key') };
  }
  if (profile?.key_command !== undefined) {
    return { key: { from: 'command', command: profile.key_command }, notices: unusedKey(env, ownKey(profile)) };
  }
  if (profile?.key !== undefined) {
    const key: KeyPlan = { from: 'value', value: profile.key, source: `profile:${profile.name}` };
    return { key, notices: unusedKey(env, ownKey(profile)) };
  }
  return { key: keyFromEnvironment(env), notices: [] };
}

function keyFromEnvironment(env: TargetQuery['env']): KeyPlan {
  for (const name of KEY_VARIABLES) {
    const value = env[name];
    if (value === undefined) continue;
    if (value.trim() === '') {
      throw new AppError('config', `${name} is set but empty`, { hint: `give it a value, or unset it: unset ${name}` });
    }
    return { from: 'value', value, source: `env:${name}` };
  }
  return { from: 'none' };
}

/** Reports only ACS_API_KEY: the other variables may be set for other programs. */
function unusedKey(env: TargetQuery['env'], why: string): string[] {
  return env.ACS_API_KEY === undefined ? [] : [`ACS_API_KEY is set but not used: ${why}`];
}

function ownKey(profile: Profile): string {
  return `profile "${profile.name}" has its own key`;
}

function hasKey(profile: Profile): boolean {
  return profile.key !== undefined || profile.key_command !== undefined;
}

async function findProfile(name: string, load: LoadProfiles): Promise<Profile> {
  const { profiles } = await load();
  const found = profiles.find((profile) => profile.name === name);
  if (found) return found;
  const known = [...profiles.map((profile) => profile.name), LOCAL_PROFILE].join(', ');
  throw new AppError('config', `no profile ${JSON.stringify(name)}`, {
    hint: `profiles: ${known}; add one: acs profile add <name> --base-url <url>`,
  });
}

function refuseKeyWithoutServer(query: TargetQuery): void {
  const given =
    query.apiKeyFile !== undefined ? '--api-key-file' : KEY_VARIABLES.find((name) => query.env[name] !== undefined);
  if (given === undefined) return;
  throw new AppError('config', `${given} gives a key, but no server is given`, {
    hint: 'give its server with ACS_BASE_URL or --profile; --profile local needs no key',
  });
}

function nothingConfigured(): AppError {
  return new AppError('config', 'no server is configured, and off a terminal there is no default', {
    hint: 'set ACS_BASE_URL and ACS_API_KEY, or use the local service with --profile local',
  });
}
