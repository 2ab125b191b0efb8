import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { NewKey } from '../../profiles/resolve.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { confirmChange } from '../bulk.ts';
import { explain } from '../declare.ts';
import type { DeviceLoginOptions } from './device-login.ts';
import { askForKey, keyOfFlag, storeProfile } from './store-profile.ts';
import { LOCAL, profileView } from './view.ts';
import { localNeedsNoKey, nameOfProfile } from './write.ts';

const CLOUD_URL = 'https://app.all-hands.dev';
const CLOUD_NAME = 'cloud';

interface LoginOptions extends DeviceLoginOptions {
  device?: boolean;
  replace?: boolean;
}

export function declareLogin(root: Command, ctx: Context): void {
  const command = root
    .command('login')
    .argument('[name]', 'name of the profile to store')
    .description('sign in to a server, and store its key')
    .option('--device', 'sign in in a browser, where the server can (the cloud)')
    .option('-n, --no-browser', 'print the address of the sign-in, and open nothing')
    .option('--replace', 'replace an existing profile')
    .action(async (name: string | undefined, options: LoginOptions) => login(name, options, ctx));
  explain(command, {
    notes: [
      'Stores the server and its key as a profile, as `acs profile add` does. On a terminal acs asks for what is missing: the server, the name of the profile, and the key, or a sign-in in the browser. Off a terminal the name, --base-url, and --api-key-file or --device are required. For an existing profile its URL is the default, and acs asks before it replaces the profile.',
      'The key is tried before it is stored, and is never printed. With --device the address and a code are printed to stderr; the browser is opened on a terminal only. acs waits until the sign-in is approved, refused (exit code 4), or the code has expired (exit code 4), at most 30 minutes. A key of the cloud that is issued so is valid for 7 days.',
      'The first profile becomes the default. For a command that prints the key use `acs profile add --key-command`. The local service needs no login.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['conflict', 'rate-limited', 'unsupported', 'interrupted'],
    examples: [
      { command: 'acs login', does: 'answer questions on a terminal' },
      {
        command: `acs login cloud --base-url ${CLOUD_URL} --device`,
        does: 'sign in to the cloud in a browser',
      },
      {
        command: 'acs login work --base-url https://acs.example.com --api-key-file - < key',
        does: 'read the key from stdin, in a script',
      },
      { command: 'acs login work --replace --api-key-file ./key', does: 'store another key for a known server' },
    ],
  });
}

/** Where to sign in; `base_url_source` as in TargetSources. */
interface Place {
  base_url: string;
  base_url_source: string;
}

async function login(given: string | undefined, options: LoginOptions, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  const key = keyOfFlag(ctx);
  if (key !== null && options.device) throw new AppError('usage', '--api-key-file and --device exclude each other');
  const named = nameOfProfile(given, ctx);
  if (named === LOCAL) return await loginToLocal(ctx);
  const store = await ctx.profiles();
  const existing = named === undefined ? null : await store.get(named);
  const place = placeOf(ctx, existing);
  // A wrong name or URL is an error before the first question.
  if (named !== undefined || place !== null) store.draft(named ?? CLOUD_NAME, place?.base_url ?? CLOUD_URL);
  refuseMissing(ctx, { named, place, isKeyGiven: key !== null || options.device === true });
  const chosen = place ?? (await askForPlace(ctx, store));
  if (chosen === LOCAL) return await loginToLocal(ctx);
  const draft = store.draft(named ?? (await askForName(ctx, store, chosen.base_url)), chosen.base_url);
  const taken = await agreeToReplace(ctx, store, draft.name, options);
  await storeProfile(ctx, store, {
    ...draft,
    base_url_source: chosen.base_url_source,
    key: key ?? (await signIn(ctx, draft.base_url, options)),
    check: 'yes',
    afterFailure: null,
    taken,
  });
  await noticePrecedence(ctx, store, draft.name);
}

async function loginToLocal(ctx: Context): Promise<void> {
  const { baseUrl, apiKeyFile } = ctx.globals;
  if (baseUrl !== undefined || apiKeyFile !== undefined)
    throw new AppError('usage', '"local" is the local service: it has no URL and no key to give', {
      hint: 'choose another name',
    });
  await localNeedsNoKey(ctx, 'the local service needs no login; use it with --profile local');
}

function placeOf(ctx: Context, existing: { name: string; base_url: string } | null): Place | null {
  const { baseUrl } = ctx.globals;
  if (baseUrl !== undefined) return { base_url: baseUrl, base_url_source: 'flag' };
  return existing === null ? null : { base_url: existing.base_url, base_url_source: `profile:${existing.name}` };
}

/** Throws `usage` with everything that is missing where acs may not ask. */
function refuseMissing(
  ctx: Context,
  { named, place, isKeyGiven }: { named: string | undefined; place: Place | null; isKeyGiven: boolean },
): void {
  if (ctx.interactive) return;
  const missing = [
    ...(named === undefined ? ['the name of the profile (acs login <name>)'] : []),
    ...(place === null ? ['the server (--base-url <url>)'] : []),
    ...(isKeyGiven ? [] : ['the key (--api-key-file <file>, - for stdin; or --device)']),
  ];
  if (missing.length === 0) return;
  throw new AppError('usage', `prompts are off, and these answers are missing: ${missing.join(', ')}`, {
    hint: 'with ACS_BASE_URL and ACS_API_KEY commands need no login',
  });
}

async function askForPlace(ctx: Context, store: ProfileStore): Promise<Place | typeof LOCAL> {
  const prompt = await ctx.prompt();
  const answer = await prompt.select({
    message: 'Server',
    choices: [
      { value: 'cloud', name: `OpenHands Cloud (${new URL(CLOUD_URL).host})` },
      { value: 'url', name: 'another server, by its URL' },
      { value: LOCAL, name: 'the local service (needs no login)' },
    ],
  });
  if (answer === LOCAL) return LOCAL;
  if (answer === 'cloud') return { base_url: CLOUD_URL, base_url_source: 'cloud' };
  const url = await prompt.input({
    message: 'URL of the server',
    validate: (value) => problemOf(() => store.draft('server', value)),
  });
  return { base_url: url, base_url_source: 'prompt' };
}

async function askForName(ctx: Context, store: ProfileStore, url: string): Promise<string> {
  const { base_url } = store.draft('server', url);
  return await (
    await ctx.prompt()
  ).input({
    message: 'Name of the profile',
    default: suggestedName(base_url),
    validate: (value) => problemOf(() => store.draft(value, url)),
  });
}

/** The host, in the characters that a name may have. */
function suggestedName(baseUrl: string): string {
  if (baseUrl === CLOUD_URL) return CLOUD_NAME;
  const name = new URL(baseUrl).host.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return name === '' || name === LOCAL ? 'server' : name.slice(0, 64);
}

/** What is wrong with an answer, for a prompt; true: nothing. */
function problemOf(check: () => unknown): true | string {
  try {
    check();
    return true;
  } catch (error) {
    if (!isAppError(error)) throw error;
    return error.message.replace(/^--base-url: /, '');
  }
}

/** Before the prompt for a key. The store checks again when it writes. */
async function agreeToReplace(
  ctx: Context,
  store: ProfileStore,
  name: string,
  options: LoginOptions,
): Promise<'replace' | 'refuse'> {
  const existing = await store.get(name);
  if (options.replace || existing === null) return options.replace ? 'replace' : 'refuse';
  if (!ctx.interactive && ctx.globals.yes === 'not-given') {
    throw new AppError('conflict', `there is already a profile "${name}"`, {
      hint: 'choose another name, or replace it with --replace',
    });
  }
  await confirmChange(ctx, { message: `Replace profile "${name}" (${existing.base_url}) and its key?`, preview: [] });
  return 'replace';
}

async function signIn(ctx: Context, baseUrl: string, options: LoginOptions): Promise<NewKey> {
  const flow = await ctx.deviceFlow(baseUrl);
  if (!options.device && ((await flow.presence()) !== 'present' || (await askForWay(ctx)) === 'key')) {
    return await askForKey(ctx);
  }
  const { signInByDevice } = await import('./device-login.ts');
  return await signInByDevice(ctx, flow, options);
}

async function askForWay(ctx: Context): Promise<'browser' | 'key'> {
  const prompt = await ctx.prompt();
  return await prompt.select({
    message: 'Sign in with',
    choices: [
      { value: 'browser', name: 'a browser' },
      { value: 'key', name: 'a key' },
    ],
  });
}

/** Which of the variables, or another default, is used instead of the new profile. */
async function noticePrecedence(ctx: Context, store: ProfileStore, name: string): Promise<void> {
  if (ctx.globals.mode === 'dry-run') return;
  const { ACS_BASE_URL: url, ACS_PROFILE: profile, ACS_API_KEY: key } = ctx.env;
  const use = `use this profile with -p ${name}`;
  const defaultName = await store.defaultName();
  if (url) await ctx.notice(`ACS_BASE_URL${key ? ' and ACS_API_KEY are' : ' is'} set and take precedence; ${use}`);
  else if (profile && profile !== name) await ctx.notice(`ACS_PROFILE is set to "${profile}"; ${use}`);
  else if (defaultName !== name)
    await ctx.notice(
      `the default profile is "${defaultName}"; ${use}, or make it the default: acs profile use ${name}`,
    );
  if (!url && key) await ctx.notice(await keyNotice(store, name));
}

async function keyNotice(store: ProfileStore, name: string): Promise<string> {
  return (await store.get(name))?.key === undefined
    ? `profile "${name}" has no key of its own, and uses ACS_API_KEY`
    : `ACS_API_KEY is set, and is not used with profile "${name}", which has its own key`;
}
