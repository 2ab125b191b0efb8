import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { sourceWords, type TargetSources } from '../../domain/target-sources.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { NewKey } from '../../profiles/resolve.ts';
import type { Profile, ProfileStore } from '../../profiles/store.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { checkKey } from '../identity.ts';
import { profileView } from './view.ts';
import { printProfile } from './write.ts';

interface AddOptions {
  keyCommand?: string;
  check: boolean;
  replace?: boolean;
}

export function declareAdd(parent: Command, ctx: Context): void {
  const command = parent
    .command('add <name>')
    .alias('create')
    .description('check a server and its key, and store both under a name')
    .option('--key-command <command>', 'store a command that prints the key, such as that of a password manager')
    .option('--no-check', 'store without a request to the server')
    .option('--replace', 'replace an existing profile')
    .action(async (name: string, options: AddOptions) => addProfile(name, options, ctx));
  explain(command, {
    notes: [
      'The server is given with --base-url. The key is read from --api-key-file, --key-command or a prompt. A profile without a key uses ACS_API_KEY. The first profile becomes the default.',
    ],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['conflict', 'rate-limited'],
    examples: [
      {
        command: 'acs profile add work --base-url https://acs.example.com --api-key-file ./key',
        does: 'read the key from a file',
      },
      {
        command: "acs profile add work --base-url https://acs.example.com --key-command 'pass show acs' --no-check",
        does: 'leave the key in a password manager',
      },
    ],
  });
}

async function addProfile(name: string, options: AddOptions, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  const store = await ctx.profiles();
  const draft = store.draft(name, ctx.globals.baseUrl ?? (await askForUrl(ctx)));
  await refuseTaken(store, name, options);
  const plan = await keyPlan(options, ctx);
  // Unasked, a password manager stays closed.
  const key = plan.from === 'command' && !options.check ? null : await ctx.readKey(plan);
  if (options.check) {
    const fromEnvironment = key === null ? await environmentKey(ctx) : null;
    const source = plan.from === 'value' ? plan.source : plan.from === 'none' ? 'env:ACS_API_KEY' : plan.from;
    const used = key ?? fromEnvironment;
    await tryKey(ctx, draft.base_url, used, {
      base_url_source: ctx.globals.baseUrl === undefined ? 'prompt' : 'flag',
      key_source: used === null ? null : source,
    });
  }
  if (ctx.globals.mode === 'dry-run')
    return await printWouldDo(ctx, `would store profile "${name}" for ${draft.base_url}`);
  const profile: Profile = { ...draft, created_at: new Date(ctx.clock.now()).toISOString() };
  if (plan.from === 'command') profile.key_command = plan.command;
  else if (key !== null) profile.key = key;
  await store.add(profile, options.replace ? 'replace' : 'refuse');
  await printProfile(ctx, store, name, true);
  if ((await store.defaultName()) === name) await ctx.notice(`"${name}" is the default profile`);
}

async function askForUrl(ctx: Context): Promise<string> {
  if (ctx.interactive) return await (await ctx.prompt()).input({ message: 'URL of the server' });
  throw new AppError('usage', 'the URL of the server is missing', { hint: 'give it with --base-url' });
}

/** Before a key is asked for. The store looks again when it writes. */
async function refuseTaken(store: ProfileStore, name: string, options: AddOptions): Promise<void> {
  if (options.replace || (await store.get(name)) === null) return;
  throw new AppError('conflict', `there is already a profile "${name}"`, {
    hint: 'choose another name, or add with --replace',
  });
}

async function keyPlan(options: AddOptions, ctx: Context): Promise<NewKey> {
  const { apiKeyFile } = ctx.globals;
  if (apiKeyFile !== undefined && options.keyCommand !== undefined) {
    throw new AppError('usage', '--api-key-file and --key-command exclude each other');
  }
  if (options.keyCommand?.trim() === '') throw new AppError('usage', '--key-command is empty');
  if (options.keyCommand !== undefined) return { from: 'command', command: options.keyCommand };
  if (apiKeyFile === '') throw new AppError('usage', '--api-key-file: the path is empty');
  if (apiKeyFile !== undefined) return apiKeyFile === '-' ? { from: 'stdin' } : { from: 'file', path: apiKeyFile };
  if (!ctx.interactive) return { from: 'none' };
  const value = await (await ctx.prompt()).secret({ message: 'Key (empty: none)' });
  return value.trim() === '' ? { from: 'none' } : { from: 'value', value, source: 'prompt' };
}

/** What a profile without a key of its own will use. */
async function environmentKey(ctx: Context): Promise<string | null> {
  const value = ctx.env.ACS_API_KEY;
  return value ? await ctx.readKey({ from: 'value', value, source: 'env:ACS_API_KEY' }) : null;
}

async function tryKey(ctx: Context, baseUrl: string, key: string | null, sources: TargetSources): Promise<void> {
  try {
    await checkKey(await ctx.connect({ base_url: baseUrl, key, sources }));
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    const isAuth = error.kind === 'auth';
    const url = isAuth ? `the URL comes from ${sourceWords(sources).base_url}; ` : '';
    const next = isAuth && key === null ? 'give a key with --api-key-file, or ' : '';
    const hint = `${url}nothing was stored; ${next}--no-check stores without asking the server`;
    throw new AppError(error.kind, error.message, { ...error.details, hint, cause: error });
  }
}
