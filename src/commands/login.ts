import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError, isFailure, isOfKind, nullIf } from '../base/errors.ts';
import { isUnencrypted, withLoopbackScheme } from '../base/loopback.ts';
import type { Server } from '../client/shared/server.ts';
import type { NewKey, Profile } from '../local/profiles/resolve.ts';
import type { ProfileStore } from '../local/profiles/store.ts';
import { KEY_VARIABLES } from '../base/text/secret-names.ts';
import { BACKEND_HERE, isBackendHere, useOfferedKey } from './shared/backend-here.ts';
import { confirmChange, printWouldDo } from './shared/bulk.ts';
import { signInByDevice } from './device-sign-in.ts';
import { explain } from './shared/declare.ts';
import { warnOfUnmasked } from './shared/files.ts';
import { existing, LOCAL, printProfile, profileView } from './profile.ts';
import { checkKey } from './whoami.ts';
import { cut } from '../base/text/well-formed.ts';

const CLOUD_URL = 'https://app.all-hands.dev';
const KEY_PROMPTS = 3;
interface LoginOptions {
  keyCommand?: string;
  device?: boolean;
  check: boolean;
}

export function declareLogin(command: Command, ctx: Context): void {
  command
    .argument('[name]', 'name of the profile to store')
    .option(
      '--key-command <command>',
      'store a command that prints the key, such as that of a password manager',
    )
    .option('--device', 'sign in in a browser, where the server can (the cloud)')
    .option('--no-check', 'store without a request to the server')
    .action(async (argument: string | undefined, options: LoginOptions) => {
      ctx.out.check(profileView, 'item');
      const name = await signIn(nameOfProfile(argument, ctx), options, ctx);
      if (name === null) return;
      const store = await ctx.profiles.store();
      await printProfile(ctx, store, name, name !== LOCAL);
      if (name !== LOCAL) return await noticePrecedence(ctx, store, name);
      await ctx.notice('the local service needs no login; use it with --profile local');
    });
  explain(command, {
    notes: [
      'On a terminal acs prompts for what is missing; elsewhere the name and --base-url are ' +
        'required. A profile without a key uses ACS_API_KEY. Replacing a stored key or URL ' +
        'needs a confirmation, or -y.',
      'The key is tried before it is stored, and is never printed. --key-command is run for ' +
        'each command. The first profile becomes the default. The local service needs no ' +
        'login.',
      'With --device the address and a code are printed to stderr; on a terminal a browser ' +
        'is opened. acs waits until the sign-in is approved, or is refused or expired (exit ' +
        'code 4). A key that the cloud issues for --device is valid for 7 days.',
      `On a terminal acs looks for Agent Canvas at ${BACKEND_HERE}. For a backend on this ` +
        'machine it offers the key of LOCAL_BACKEND_API_KEY, else of ' +
        '~/.openhands/agent-canvas/api-key.txt, which is read after your consent. A host of ' +
        'this machine without a scheme means http.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['conflict', 'rate-limited', 'unsupported', 'interrupted'],
    examples: {
      [`acs login cloud --base-url ${CLOUD_URL} --device`]: 'sign in to the cloud in a browser',
      'acs login canvas --base-url localhost:8000': 'sign in to Agent Canvas on this machine',
      'acs login work --base-url https://acs.example.com --api-key-file - < key':
        'read the key from stdin, in a script',
      "acs login work --base-url https://acs.example.com --key-command 'pass show acs'":
        'leave the key in a password manager',
    },
  });
}

/** @returns the name of the stored profile, `local` where that was chosen, null in a dry run */
export async function signIn(
  named: string | undefined,
  options: LoginOptions,
  ctx: Context,
): Promise<string | null> {
  const { apiKeyFile, mode } = ctx.globals;
  const ways = [apiKeyFile, options.keyCommand, options.device].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw new AppError('usage', 'give one of --api-key-file, --key-command and --device');
  if (apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  if (options.keyCommand?.trim() === '') throw new AppError('usage', '--key-command is empty');
  const store = await ctx.profiles.store();
  const target = await chooseTarget(ctx, store, named);
  if (target === LOCAL) return LOCAL;
  const { name, base_url } = target;
  await confirmReplacement(ctx, target, await store.get(name));
  // A key is prompted for only where the server was reached.
  const isReached = ctx.terminal.interactive && options.check;
  const server = isReached ? await tryUrl(ctx, base_url) : null;
  const key = await newKey(ctx, target, options, server?.info.dialect === 'agent');
  if (mode === 'dry-run') {
    await printWouldDo(ctx, `would store profile "${name}" for ${base_url}`);
    return null;
  }
  await store.put({ name, base_url, created_at: new Date(ctx.clock.now()).toISOString(), ...key });
  await warnOfUnmasked(ctx, 'the key', key.key);
  return name;
}

/** What is stored, without its key. */
interface Target {
  name: string;
  base_url: string;
  /** The source of the URL: `flag`, `profile:<name>`, `cloud`, `prompt`. */
  source: string;
}

/** Reads the flags and the stored profile; prompts for what they lack. */
async function chooseTarget(
  ctx: Context,
  store: ProfileStore,
  named: string | undefined,
): Promise<Target | typeof LOCAL> {
  const known = await namedServer(ctx, store, named);
  if (known === LOCAL) return LOCAL;
  // A wrong flag is an error before the first prompt.
  store.draft(named ?? 'server', known?.url ?? CLOUD_URL);
  const needed = { 'the argument <name>': named, '--base-url': known };
  const missing = Object.entries(needed).flatMap(([part, value]) => (value == null ? part : []));
  if (!ctx.terminal.interactive && missing.length > 0)
    throw new AppError('usage', `missing: ${missing.join(' and ')}`, {
      hint: 'with ACS_BASE_URL and ACS_API_KEY commands need no login',
    });
  const server = known ?? (await askForServer(ctx, store));
  if (server === LOCAL) return LOCAL;
  const name = named ?? (await askForName(ctx, store, server.url));
  return { ...store.draft(name, server.url), source: server.source };
}

/** Null where neither a flag nor a stored profile names it. */
async function namedServer(
  ctx: Context,
  store: ProfileStore,
  name: string | undefined,
): Promise<{ url: string; source: string } | typeof LOCAL | null> {
  const { baseUrl, apiKeyFile } = ctx.globals;
  if (name === LOCAL) {
    if ((baseUrl ?? apiKeyFile) === undefined) return LOCAL;
    const text = 'the profile "local" is the local service: it takes no URL and no key';
    throw new AppError('usage', text, { hint: 'choose another name' });
  }
  const stored = name === undefined ? null : await store.get(name);
  if (baseUrl !== undefined) return { url: baseUrl, source: 'flag' };
  return stored && { url: stored.base_url, source: `profile:${stored.name}` };
}

async function confirmReplacement(
  ctx: Context,
  { name, base_url }: Target,
  stored: Profile | null,
): Promise<void> {
  if (stored === null) return;
  const hasKey = stored.key !== undefined || stored.key_command !== undefined;
  if (!hasKey && stored.base_url === base_url) return;
  if (!ctx.terminal.interactive && ctx.globals.yes === 'not-given')
    throw new AppError('conflict', `profile "${name}" exists already`, {
      hint: 'choose another name, or replace its URL and key with -y',
    });
  await confirmChange(ctx, {
    message: `Replace profile "${name}" (${stored.base_url}) and its key?`,
    preview: [],
  });
}

/** Members of the profile. The key is tried before it is stored. */
async function newKey(
  ctx: Context,
  target: Target,
  options: LoginOptions,
  isBackend: boolean,
): Promise<Pick<Profile, 'key' | 'key_command'>> {
  let key: string | null = null;
  let server: Server | null = null;
  const check = async (plan: NewKey): Promise<void> => {
    // A password manager is opened only for a check.
    key = plan.from === 'command' && !options.check ? null : await ctx.profiles.readKey(plan);
    if (!options.check) return;
    try {
      server = await tryKey(ctx, target, plan, key);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const hint = ['nothing was stored', error.details.hint].filter(Boolean).join('; ');
      throw error.with({ hint });
    }
  };
  const plan = await keyPlan(ctx, target.base_url, options, isBackend);
  const url = new URL(target.base_url);
  if (plan.from !== 'none' && isUnencrypted(url))
    await ctx.warn(`the key is sent to ${url.origin} without encryption: use https, or a tunnel`);
  if (plan.from !== 'prompt') await check(plan);
  else if (!isBackend || !(await useOfferedKey(ctx, target.base_url, check)))
    await askForKey(ctx, check);
  const { dialect, version, features } = (server as Server | null)?.info ?? {};
  if (dialect === 'agent')
    await ctx.notice(`agent server ${version} (dialect agent), with ${features?.join(', ')}`);
  if (plan.from === 'command') return { key_command: plan.command };
  return key === null ? {} : { key };
}

function nameOfProfile(
  argument: string | undefined,
  { globals: { profile } }: Context,
): string | undefined {
  if (argument !== undefined && profile !== undefined && argument !== profile)
    throw new AppError('usage', 'two profiles are named: give either the argument or --profile');
  return argument ?? profile;
}

async function askForServer(
  ctx: Context,
  store: ProfileStore,
): Promise<{ url: string; source: string } | typeof LOCAL> {
  const isHere = await isBackendHere(ctx);
  const prompt = await ctx.terminal.prompt();
  const answer = await prompt.select({
    message: 'Server',
    choices: [
      ...(isHere ? [{ value: 'canvas', name: `Agent Canvas here (${BACKEND_HERE})` }] : []),
      { value: 'cloud', name: `OpenHands Cloud (${new URL(CLOUD_URL).host})` },
      { value: 'url', name: 'another server, by its URL' },
      { value: LOCAL, name: 'the local service (needs no login)' },
    ],
  });
  if (answer === LOCAL) return LOCAL;
  if (answer === 'canvas') return { url: BACKEND_HERE, source: 'canvas' };
  if (answer === 'cloud') return { url: CLOUD_URL, source: 'cloud' };
  const urlOf = (text: string) => {
    const url = withLoopbackScheme(text.trim());
    return url.includes('://') ? url : `https://${url}`;
  };
  const text = await prompt.input({
    message: 'URL of the server',
    validate: (value) =>
      trueOrProblem(() => tryUrl(ctx, store.draft('server', urlOf(value)).base_url)),
  });
  return { url: urlOf(text), source: 'prompt' };
}

/** Null for an app server that requires a key. */
async function tryUrl(ctx: Context, base_url: string): Promise<Server | null> {
  const target = { base_url, key: null, cache: 'none' } as const;
  return await ctx.servers.connect(target).catch(nullIf(isOfKind('auth')));
}

async function askForName(ctx: Context, store: ProfileStore, url: string): Promise<string> {
  const { base_url } = store.draft('server', url);
  const host = new URL(base_url).host
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  const names: Record<string, string> = { [CLOUD_URL]: 'cloud', [BACKEND_HERE]: 'canvas' };
  const ofHost = host === '' || host === LOCAL ? 'server' : cut(host, 64);
  const prompt = await ctx.terminal.prompt();
  return await prompt.input({
    message: 'Name of the profile',
    default: names[base_url] ?? ofHost,
    validate: (value) => trueOrProblem(() => store.draft(value, url)),
  });
}

async function trueOrProblem(check: () => unknown): Promise<true | string> {
  try {
    await check();
    return true;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return [error.message.replace(/^--base-url: /, ''), error.details.hint]
      .filter(Boolean)
      .join('; ');
  }
}

async function keyPlan(
  ctx: Context,
  baseUrl: string,
  { keyCommand, device, check }: LoginOptions,
  isBackend: boolean,
): Promise<NewKey | { from: 'prompt' }> {
  const { apiKeyFile } = ctx.globals;
  if (apiKeyFile === '-') return { from: 'stdin' };
  if (apiKeyFile !== undefined) return { from: 'file', path: apiKeyFile };
  if (keyCommand !== undefined) return { from: 'command', command: keyCommand };
  if (!device) {
    if (!ctx.terminal.interactive) return { from: 'none' };
    if (!check || isBackend) return { from: 'prompt' };
  }
  const flow = await ctx.servers.deviceFlow(baseUrl);
  if (device) return await signInByDevice(ctx, flow, await flow.start());
  // Only a request for a code shows whether the server has this sign-in; an unused code expires.
  const code = await flow.start().catch((error: unknown) => {
    if (isOfKind('unsupported', 'auth', 'server', 'not-found')(error)) return null;
    throw error;
  });
  if (code === null) return { from: 'prompt' };
  const prompt = await ctx.terminal.prompt();
  const way = await prompt.select({
    message: 'Sign in with',
    choices: [
      { value: 'browser', name: 'a browser' },
      { value: 'key', name: 'a key' },
    ],
  });
  return way === 'browser' ? await signInByDevice(ctx, flow, code) : { from: 'prompt' };
}

/** Asks again for a key that cannot be used; throws the last refusal. */
async function askForKey(ctx: Context, check: (plan: NewKey) => Promise<void>): Promise<void> {
  let prompts = 0;
  const validate = async (value: string): Promise<true | string> => {
    prompts += 1;
    try {
      const isNone = value.trim() === '';
      await check(isNone ? { from: 'none' } : { from: 'value', value, source: 'prompt' });
      return true;
    } catch (error) {
      if (!isOfKind('auth', 'config')(error) || prompts === KEY_PROMPTS) throw error;
      return error.message;
    }
  };
  await (await ctx.terminal.prompt()).secret({ message: 'Key (empty: none)', validate });
}

/** A profile without a key of its own uses that of the environment. */
async function tryKey(
  ctx: Context,
  { base_url, source }: Target,
  plan: NewKey,
  key: string | null,
): Promise<Server> {
  const variable = key === null ? KEY_VARIABLES.find((name) => ctx.local.env[name]) : undefined;
  const used: NewKey =
    variable === undefined
      ? plan
      : { from: 'value', value: ctx.local.env[variable] ?? '', source: `env:${variable}` };
  const value = variable === undefined ? key : await ctx.profiles.readKey(used);
  const keySource = used.from === 'value' ? used.source : used.from;
  const sources = { base_url_source: source, key_source: value === null ? null : keySource };
  const server = await ctx.servers.connect({ base_url, key: value, sources });
  await checkKey(server);
  return server;
}

async function noticePrecedence(ctx: Context, store: ProfileStore, name: string): Promise<void> {
  const { ACS_BASE_URL: url, ACS_PROFILE: profile } = ctx.local.env;
  const use = `use this profile with -p ${name}`;
  const defaultName = await store.defaultName();
  if (url) await ctx.notice(`ACS_BASE_URL is set and takes precedence; ${use}`);
  else if (profile && profile !== name)
    await ctx.notice(`ACS_PROFILE is set to "${profile}"; ${use}`);
  else if (defaultName === name) await ctx.notice(`"${name}" is the default profile`);
  else {
    const other =
      defaultName === null
        ? 'there is no default profile'
        : `the default profile is "${defaultName}"`;
    await ctx.notice(`${other}; ${use}, or make it the default: acs profile use ${name}`);
  }
}

export function declareLogout(command: Command, ctx: Context): void {
  command
    .argument('[name]', 'name of the profile (default: the active one)')
    .action(async (argument: string | undefined) => {
      ctx.out.check(profileView, 'item');
      const store = await ctx.profiles.store();
      const name =
        nameOfProfile(argument, ctx) ??
        ctx.local.env.ACS_PROFILE?.trim() ??
        (await store.defaultName());
      if (!name)
        throw new AppError('usage', 'no profile is active', {
          hint: 'name one: acs logout <name>; `acs profile list` shows them',
        });
      const profile = await existing(store, name);
      if (profile === null) {
        await printProfile(ctx, store, LOCAL, false);
        return await ctx.notice('the local service has no login; its key is its own');
      }
      const { key, ...rest } = profile;
      const changed = key !== undefined;
      if (ctx.globals.mode === 'dry-run') {
        const what = changed
          ? `would remove the stored key of "${name}"`
          : `profile "${name}" has no stored key`;
        return await printWouldDo(ctx, what);
      }
      if (changed) await store.put(rest);
      await printProfile(ctx, store, name, changed);
      const variable = KEY_VARIABLES.find((each) => ctx.local.env[each]);
      const kept = '`acs profile delete` removes it';
      if (profile.key_command !== undefined)
        await ctx.notice(`profile "${name}" gets its key from a command, which is kept; ${kept}`);
      else if (variable !== undefined)
        await ctx.notice(`${variable} is set, and is used with profile "${name}" now`);
    });
  explain(command, {
    notes: [
      'Without a name the profile is that of --profile, ACS_PROFILE, or the default. The ' +
        'profile and its URL are kept: `acs login <name>` stores a key again, and `acs ' +
        'profile delete` removes the profile. A profile without a key uses ACS_API_KEY. A ' +
        'profile that gets its key from a command keeps that command.',
      'No request is sent: the key stays valid until it expires or is revoked at the server.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    onlyExits: ['usage', 'config', 'not-found'],
    examples: {
      'acs logout': 'remove the key of the active profile',
      'acs logout work --json': 'remove a key in a script; without a stored key, changed is false',
    },
  });
}
