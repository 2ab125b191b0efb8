import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import type { NewKey } from '../../profiles/resolve.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { explain } from '../declare.ts';
import { askForKey, keyOfFlag, storeProfile } from './store-profile.ts';
import { profileView } from './view.ts';

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
  await storeProfile(ctx, store, {
    ...draft,
    base_url_source: ctx.globals.baseUrl === undefined ? 'prompt' : 'flag',
    key: await keyPlan(options, ctx),
    check: options.check ? 'yes' : 'no',
    afterFailure: '--no-check stores without asking the server',
    taken: options.replace ? 'replace' : 'refuse',
  });
}

async function askForUrl(ctx: Context): Promise<string> {
  if (ctx.interactive) return await (await ctx.prompt()).input({ message: 'URL of the server' });
  throw new AppError('usage', 'the URL of the server is missing', { hint: 'give it with --base-url' });
}

/** Before the prompt for a key. The store checks again when it writes. */
async function refuseTaken(store: ProfileStore, name: string, options: AddOptions): Promise<void> {
  if (options.replace || (await store.get(name)) === null) return;
  throw new AppError('conflict', `there is already a profile "${name}"`, {
    hint: 'choose another name, or add with --replace',
  });
}

async function keyPlan(options: AddOptions, ctx: Context): Promise<NewKey> {
  if (ctx.globals.apiKeyFile !== undefined && options.keyCommand !== undefined) {
    throw new AppError('usage', '--api-key-file and --key-command exclude each other');
  }
  if (options.keyCommand?.trim() === '') throw new AppError('usage', '--key-command is empty');
  if (options.keyCommand !== undefined) return { from: 'command', command: options.keyCommand };
  const given = keyOfFlag(ctx);
  if (given !== null) return given;
  return ctx.interactive ? await askForKey(ctx) : { from: 'none' };
}
