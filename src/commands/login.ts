import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError, isAppError, isFailure } from '../base/errors.ts';
import type { DeviceCode, DeviceFlow, DevicePoll } from '../client/device-flow.ts';
import type { NewKey } from '../local/profiles/resolve.ts';
import type { Profile } from '../local/profiles/resolve.ts';
import type { ProfileStore } from '../local/profiles/store.ts';
import { formatDuration } from '../base/text/time.ts';
import { KEY_VARIABLES } from '../base/text/secret-names.ts';
import { beforeTime } from '../runs/deadline.ts';
import { confirmChange, printWouldDo } from './shared/bulk.ts';
import { explain } from './shared/declare.ts';
import { warnOfUnmasked } from './shared/files.ts';
import { existing, LOCAL, printProfile, profileView } from './profile.ts';
import { checkKey } from './whoami.ts';
import { cut } from '../base/text/well-formed.ts';

const CLOUD_URL = 'https://app.all-hands.dev';
const KEY_PROMPTS = 3;
/**
 * What an answer `slow_down` adds to the interval (RFC 8628, 3.5), and an answer that did not
 * arrive.
 */
const SLOWER_MS = 5_000;
const LONGEST_INTERVAL_MS = 60_000;
/**
 * What a poll may take after the end of the code: an answer may arrive slowly and never be
 * complete.
 */
const LAST_POLL_MS = 90_000;

interface LoginOptions {
  keyCommand?: string;
  device?: boolean;
  check: boolean;
}

export function declareLogin(root: Command, ctx: Context): void {
  const command = root
    .command('login')
    .argument('[name]', 'name of the profile to store')
    .description('sign in to a server, and store its URL and key as a profile')
    .option(
      '--key-command <command>',
      'store a command that prints the key, such as that of a password manager',
    )
    .option('--device', 'sign in in a browser, where the server can (the cloud)')
    .option('--no-check', 'store without a request to the server')
    .action(async (name: string | undefined, options: LoginOptions) => login(name, options, ctx));
  explain(command, {
    notes: [
      'On a terminal acs prompts for what is missing; elsewhere the name and --base-url are ' +
        'required. A profile without a key uses ACS_API_KEY. Replacing a stored key or URL ' +
        'needs a confirmation, or -y.',
      'The key is tried before it is stored, and is never printed. --key-command is run for ' +
        'each command. The first profile becomes the default. The local service needs no login.',
      'With --device the address and a code are printed to stderr; on a terminal a browser is ' +
        'opened. acs waits until the sign-in is approved, or is refused or expired (exit code ' +
        '4). A key that the cloud issues for --device is valid for 7 days.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['conflict', 'rate-limited', 'unsupported', 'interrupted'],
    examples: [
      {
        command: `acs login cloud --base-url ${CLOUD_URL} --device`,
        does: 'sign in to the cloud in a browser',
      },
      {
        command: 'acs login work --base-url https://acs.example.com --api-key-file - < key',
        does: 'read the key from stdin, in a script',
      },
      {
        command: "acs login work --base-url https://acs.example.com --key-command 'pass show acs'",
        does: 'leave the key in a password manager',
      },
    ],
  });
}

async function login(
  given: string | undefined,
  options: LoginOptions,
  ctx: Context,
): Promise<void> {
  ctx.out.check(profileView, 'item');
  const name = await signIn(nameOfProfile(given, ctx), options, ctx);
  if (name === null) return;
  const store = await ctx.profiles();
  await printProfile(ctx, store, name, name !== LOCAL);
  if (name !== LOCAL) return await noticePrecedence(ctx, store, name);
  await ctx.notice('the local service needs no login; use it with --profile local');
}

/**
 * Prompts for what is missing, and stores the profile; its name, `local` where that was chosen,
 * null in a dry run.
 */
export async function signIn(
  named: string | undefined,
  options: LoginOptions,
  ctx: Context,
): Promise<string | null> {
  const { baseUrl, apiKeyFile } = ctx.globals;
  const ways = [apiKeyFile, options.keyCommand, options.device].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw new AppError('usage', 'give one of --api-key-file, --key-command and --device');
  if (apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  if (options.keyCommand?.trim() === '') throw new AppError('usage', '--key-command is empty');
  const store = await ctx.profiles();
  if (named === LOCAL) {
    if (baseUrl === undefined && apiKeyFile === undefined) return LOCAL;
    throw new AppError(
      'usage',
      'the profile "local" is the local service: it takes no URL and no key',
      {
        hint: 'choose another name',
      },
    );
  }

  // The server and the name: a wrong flag is an error before the first prompt.
  const known = named === undefined ? null : await store.get(named);
  let url = baseUrl ?? known?.base_url;
  let urlSource = baseUrl === undefined ? `profile:${named}` : 'flag';
  if (named !== undefined || url !== undefined) store.draft(named ?? 'server', url ?? CLOUD_URL);
  if (!ctx.interactive && (named === undefined || url === undefined)) {
    const missing = [
      ...(named === undefined ? ['the argument <name>'] : []),
      ...(url === undefined ? ['--base-url'] : []),
    ];
    throw new AppError('usage', `missing: ${missing.join(' and ')}`, {
      hint: 'with ACS_BASE_URL and ACS_API_KEY commands need no login',
    });
  }
  if (url === undefined) {
    const chosen = await askForServer(ctx, store);
    if (chosen === LOCAL) return LOCAL;
    ({ url, urlSource } = chosen);
  }
  const { name, base_url } = store.draft(named ?? (await askForName(ctx, store, url)), url);
  const before = await store.get(name);
  const hasKey = before?.key !== undefined || before?.key_command !== undefined;
  if (before !== null && (hasKey || before.base_url !== base_url)) {
    if (!ctx.interactive && ctx.globals.yes === 'not-given') {
      throw new AppError('conflict', `profile "${name}" exists already`, {
        hint: 'choose another name, or replace its URL and key with -y',
      });
    }
    await confirmChange(ctx, {
      message: `Replace profile "${name}" (${before.base_url}) and its key?`,
      preview: [],
    });
  }

  // The key: tried before it is stored.
  let key = null as string | null;
  const check = async (plan: NewKey): Promise<void> => {
    // A password manager is opened only for a check.
    key = plan.from === 'command' && !options.check ? null : await ctx.readKey(plan);
    if (!options.check) return;
    try {
      await tryKey(ctx, { base_url, base_url_source: urlSource }, plan, key);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const hint = ['nothing was stored', error.details.hint].filter(Boolean).join('; ');
      throw new AppError(error.kind, error.message, { ...error.details, hint, cause: error });
    }
  };
  // A key is prompted for only where the server was reached.
  if (ctx.interactive && options.check && urlSource !== 'prompt') await tryUrl(ctx, base_url);
  let plan = await keyPlan(ctx, base_url, options);
  if (plan !== null) await check(plan);
  else plan = await askForKey(ctx, check);
  if (ctx.globals.mode === 'dry-run') {
    await printWouldDo(ctx, `would store profile "${name}" for ${base_url}`);
    return null;
  }
  const profile: Profile = { name, base_url, created_at: new Date(ctx.clock.now()).toISOString() };
  if (plan.from === 'command') profile.key_command = plan.command;
  else if (key !== null) profile.key = key;
  await store.put(profile);
  await warnOfUnmasked(ctx, 'the key', profile.key ?? '');
  return name;
}

function nameOfProfile(
  given: string | undefined,
  { globals: { profile } }: Context,
): string | undefined {
  if (given !== undefined && profile !== undefined && given !== profile) {
    throw new AppError('usage', 'two profiles are named: give either the argument or --profile');
  }
  return given ?? profile;
}

async function askForServer(
  ctx: Context,
  store: ProfileStore,
): Promise<{ url: string; urlSource: string } | 'local'> {
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
  if (answer === 'cloud') return { url: CLOUD_URL, urlSource: 'cloud' };
  const urlOf = (text: string) => (text.includes('://') ? text : `https://${text.trim()}`);
  const text = await prompt.input({
    message: 'URL of the server',
    validate: (value) => problemOf(() => tryUrl(ctx, store.draft('server', urlOf(value)).base_url)),
  });
  return { url: urlOf(text), urlSource: 'prompt' };
}

async function tryUrl(ctx: Context, base_url: string): Promise<void> {
  try {
    await ctx.connect({ base_url, key: null, cache: 'none' });
  } catch (error) {
    // A server that requires a key is one.
    if (!isAppError(error) || error.kind !== 'auth') throw error;
  }
}

async function askForName(ctx: Context, store: ProfileStore, url: string): Promise<string> {
  const { base_url } = store.draft('server', url);
  const host = new URL(base_url).host
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  const suggested =
    base_url === CLOUD_URL ? 'cloud' : host === '' || host === LOCAL ? 'server' : cut(host, 64);
  const prompt = await ctx.prompt();
  return await prompt.input({
    message: 'Name of the profile',
    default: suggested,
    validate: (value) => problemOf(() => store.draft(value, url)),
  });
}

async function problemOf(check: () => unknown): Promise<true | string> {
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

/** Null where the key has to be typed. */
async function keyPlan(
  ctx: Context,
  baseUrl: string,
  options: LoginOptions,
): Promise<NewKey | null> {
  const { apiKeyFile } = ctx.globals;
  if (apiKeyFile !== undefined)
    return apiKeyFile === '-' ? { from: 'stdin' } : { from: 'file', path: apiKeyFile };
  if (options.keyCommand !== undefined) return { from: 'command', command: options.keyCommand };
  if (!options.device && !ctx.interactive) return { from: 'none' };
  if (options.device || options.check) {
    const flow = await ctx.deviceFlow(baseUrl);
    if (options.device) return await signInByDevice(ctx, flow, await flow.start());
    // Only a request for a code shows whether the server has this sign-in; a code that is not used
    // expires.
    const code = await flow.start().catch((error: unknown) => {
      if (isAppError(error) && ['unsupported', 'auth', 'server', 'not-found'].includes(error.kind))
        return null;
      throw error;
    });
    if (code !== null) {
      const way = await (
        await ctx.prompt()
      ).select({
        message: 'Sign in with',
        choices: [
          { value: 'browser', name: 'a browser' },
          { value: 'key', name: 'a key' },
        ],
      });
      if (way === 'browser') return await signInByDevice(ctx, flow, code);
    }
  }
  return null;
}

/**
 * Asks again for a key that cannot be used; throws the last refusal, and any other failure of the
 * check.
 */
async function askForKey(ctx: Context, check: (plan: NewKey) => Promise<void>): Promise<NewKey> {
  const planOf = (value: string): NewKey =>
    value.trim() === '' ? { from: 'none' } : { from: 'value', value, source: 'prompt' };
  let prompts = 0;
  const validate = async (value: string): Promise<true | string> => {
    prompts += 1;
    try {
      await check(planOf(value));
      return true;
    } catch (error) {
      if (!isAppError(error) || !['auth', 'config'].includes(error.kind) || prompts === KEY_PROMPTS)
        throw error;
      return error.message;
    }
  };
  return planOf(await (await ctx.prompt()).secret({ message: 'Key (empty: none)', validate }));
}

/** A profile without a key of its own uses that of the environment. */
async function tryKey(
  ctx: Context,
  server: { base_url: string; base_url_source: string },
  plan: NewKey,
  key: string | null,
): Promise<void> {
  const variable = key === null ? KEY_VARIABLES.find((name) => ctx.env[name]) : undefined;
  const fromVariable = {
    from: 'value',
    value: ctx.env[variable ?? ''] ?? '',
    source: `env:${variable}`,
  } as const;
  const used = variable === undefined ? key : await ctx.readKey(fromVariable);
  const source =
    variable !== undefined ? fromVariable.source : plan.from === 'value' ? plan.source : plan.from;
  const sources = {
    base_url_source: server.base_url_source,
    key_source: used === null ? null : source,
  };
  await checkKey(await ctx.connect({ base_url: server.base_url, key: used, sources }));
}

async function signInByDevice(ctx: Context, flow: DeviceFlow, code: DeviceCode): Promise<NewKey> {
  ctx.keepSecret(code.device_code);
  const what = code.needs_code ? 'enter' : 'check that it shows';
  await ctx.notice(
    `to sign in, open ${code.url} in a browser and ${what} the code ${code.user_code}`,
    'question',
  );
  // Outside a terminal no user would see it.
  if (!ctx.offTerminal && !(await ctx.openBrowser(code.url))) {
    await ctx.notice('no browser was found; open the address on any device');
  }
  const validity = formatDuration(code.expires_in_ms);
  const progress = await ctx.progress(
    `waiting for the approval; the code expires after ${validity}`,
  );
  const endsAtMs = ctx.clock.now() + code.expires_in_ms;
  const again = { hint: 'nothing was stored; `acs login` requests a new code' };
  let intervalMs = code.interval_ms;
  let failure: AppError | null = null;
  try {
    for (;;) {
      await ctx.clock.sleep(
        Math.min(intervalMs, Math.max(endsAtMs - ctx.clock.now(), 0)),
        ctx.signal,
      );
      // The last poll is after the end, so that an approval in the last interval is not lost.
      const isLast = ctx.clock.now() >= endsAtMs;
      const lost = new AppError('network', 'the server did not complete its answer');
      const limitMs = endsAtMs + LAST_POLL_MS - ctx.clock.now();
      const answer = await beforeTime(ctx, limitMs, [flow.poll(code.device_code)]).catch(
        (error: unknown) => {
          const passing = ['network', 'rate-limited', 'unknown-outcome'];
          if (!isAppError(error)) throw error;
          if (error.kind === 'server' ? error.details.retryable : passing.includes(error.kind))
            return error;
          throw error;
        },
      );
      const result: DevicePoll | AppError = answer === 'time' ? lost : answer;
      if (isAppError(result)) {
        // A lost answer changes nothing that a new sign-in would not repeat.
        const kind = result.kind === 'unknown-outcome' ? 'network' : result.kind;
        if (isLast)
          throw new AppError(kind, result.message, {
            ...result.details,
            ...again,
            retryable: true,
          });
        if (failure === null) {
          progress.hide();
          await ctx.notice(`${result.message}; polling continues until the code expires`);
          progress.show();
        }
        failure = result;
        intervalMs = Math.min(intervalMs + SLOWER_MS, LONGEST_INTERVAL_MS);
        continue;
      }
      if (result.status === 'approved') {
        ctx.keepSecret(result.key);
        await progress.done();
        return { from: 'value', value: result.key, source: 'device' };
      }
      if (isLast) throw new AppError('auth', 'the code expired before it was approved', again);
      failure = null;
      // Never shorter than before: a server that gets too many requests refuses the code.
      const slowerMs = result.status === 'slow-down' ? intervalMs + SLOWER_MS : intervalMs;
      intervalMs = Math.min(Math.max(slowerMs, result.interval_ms ?? 0), LONGEST_INTERVAL_MS);
    }
  } catch (error) {
    await progress.fail();
    throw error;
  }
}

async function noticePrecedence(ctx: Context, store: ProfileStore, name: string): Promise<void> {
  const { ACS_BASE_URL: url, ACS_PROFILE: profile } = ctx.env;
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

export function declareLogout(root: Command, ctx: Context): void {
  const command = root
    .command('logout')
    .argument('[name]', 'name of the profile (default: the active one)')
    .description('remove the stored key of a profile')
    .action(async (name: string | undefined) => logout(name, ctx));
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
    examples: [
      { command: 'acs logout', does: 'remove the key of the active profile' },
      {
        command: 'acs logout work --json',
        does: 'remove a key in a script; without a stored key, changed is false',
      },
    ],
  });
}

async function logout(given: string | undefined, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  const store = await ctx.profiles();
  const name =
    nameOfProfile(given, ctx) ?? ctx.env.ACS_PROFILE?.trim() ?? (await store.defaultName());
  if (name === null || name === '') {
    throw new AppError('usage', 'no profile is active', {
      hint: 'name one: acs logout <name>; `acs profile list` shows them',
    });
  }
  const profile = await existing(store, name);
  if (profile === null) {
    await printProfile(ctx, store, LOCAL, false);
    return await ctx.notice('the local service has no login; its key is its own');
  }
  const { key, ...rest } = profile;
  if (ctx.globals.mode === 'dry-run') {
    const what =
      key === undefined
        ? `profile "${name}" has no stored key`
        : `would remove the stored key of "${name}"`;
    return await printWouldDo(ctx, what);
  }
  if (key !== undefined) await store.put(rest);
  await printProfile(ctx, store, name, key !== undefined);
  const variable = KEY_VARIABLES.find((each) => ctx.env[each]);
  if (profile.key_command !== undefined) {
    await ctx.notice(
      `profile "${name}" gets its key from a command, which is kept; \`acs profile ` +
        `delete\` removes it`,
    );
  } else if (variable !== undefined) {
    await ctx.notice(`${variable} is set, and is used with profile "${name}" now`);
  }
}
