import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError } from '../base/errors.ts';
import { GIT_PROVIDERS, type GitProvider } from '../domain/git-provider.ts';
import type { View } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import { declareNamedDelete, declareNamedList, type NamedItems } from './shared/named-items.ts';
import { oneOf } from './shared/option-parsers.ts';
import { promptForSecret, readText, warnOfUnmasked } from './shared/files.ts';

export const gitProviderView: View<GitProvider> = {
  noun: 'git provider',
  id: ({ git_provider }) => git_provider,
  fields: [
    { name: 'git_provider', weight: 0 },
    { name: 'host', weight: 2 },
  ],
};

const PROVIDERS: NamedItems<GitProvider> = {
  view: gitProviderView,
  command: 'acs git-provider',
  argument: 'provider',
  examples: ['github', 'gitlab'],
  one: (name) => `token for ${name}`,
  several: 'tokens of git providers',
  paging: 'all at once',
  fetch: async (server) => ({ items: await server.git.providers(), next: null }),
  listHelp: {
    description: 'list the git providers that the server has a token for',
    notes: [
      'Tokens are never shown. Without a host the token is for the public host of the provider.',
    ],
    exits: ['conflict', 'unsupported'],
  },
  deleteHelp: {
    notes: [
      'The tokens for other providers are kept. The token stays valid until it is revoked ' +
        'at the provider.',
      'A server without settings does not report which providers it has tokens for. Then ' +
        'nothing is deleted (exit 6); with --allow-loss the tokens for all providers are ' +
        'deleted.',
    ],
    exits: ['conflict', 'unsupported'],
  },
  absent: (git_provider) => ({ git_provider, host: null }),
  concurrency: 1,
  remove: (server, name, { allowLoss }) =>
    server.git.disconnect(name, allowLoss ? 'allow' : 'refuse'),
};

export function declare(command: Command, ctx: Context): void {
  declareNamedList(command, ctx, PROVIDERS);
  declareSet(command, ctx);
  declareNamedDelete(command, ctx, PROVIDERS).option(
    '--allow-loss',
    'delete although the server may drop tokens for other providers',
  );
}

interface SetOptions {
  host?: string;
  tokenFile?: string;
  allowLoss?: boolean;
}

function declareSet(parent: Command, ctx: Context): void {
  const command = parent
    .command('set')
    .description('store a token for a git provider, or replace it');
  command
    .argument('<provider>', GIT_PROVIDERS.join(', '), oneOf(...GIT_PROVIDERS))
    .option(
      '--host <host>',
      'the host of a self-hosted provider; without it an existing one is kept',
      (text) => {
        const host = text.trim().replace(/\/+$/, '');
        const isHost = /^(https?:\/\/)?[A-Za-z0-9.[\]:_-]+(\/[\w.~/-]*)?$/.test(host);
        if (isHost && URL.canParse(host.includes('://') ? host : `https://${host}`)) return host;
        // The text is not repeated: a URL may have a token in it.
        throw new AppError('usage', '--host: not a host', {
          hint: 'give a name such as git.example.com, or its URL',
        });
      },
    )
    .option(
      '--token-file <file|->',
      'read the token from a file or stdin; without it acs asks for the token',
    )
    .option('--allow-loss', 'store it although the server may drop tokens for other providers');
  explain(command, {
    notes: [
      'The token is read from a file, stdin or a prompt, never from the command line. ' +
        'OpenHands servers try it at the provider before they store it; a token that is ' +
        'refused is exit 4. The tokens for other providers are kept.',
      'A server without settings does not report which providers it has tokens for. Then ' +
        'nothing is stored, because their tokens would be lost (exit 6), unless --allow-loss ' +
        'is given.',
    ],
    json: ({ objectForm }) => [objectForm(gitProviderView, 'changed')],
    exits: ['conflict', 'unsupported'],
    examples: {
      'acs git-provider set github': 'ask for the token without showing it',
      'acs git-provider set forgejo --host git.example.com --token-file token.txt':
        'store the token for a self-hosted Forgejo',
    },
  });
  command.action((provider: string, options: SetOptions) => setProvider(ctx, provider, options));
}

const WAYS =
  'give it with --token-file <file>, as --token-file - on stdin, or at the prompt of a terminal';

async function setProvider(
  ctx: Context,
  git_provider: string,
  { host, tokenFile, allowLoss }: SetOptions,
): Promise<void> {
  ctx.out.check(gitProviderView, 'item');
  const what = `the token for ${git_provider}`;
  const text =
    tokenFile === undefined
      ? await promptForSecret(ctx, what, WAYS)
      : await readText(ctx, tokenFile);
  const token = text.trim();
  if (token === '') throw new AppError('usage', `${what} is empty`, { hint: WAYS });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new AppError(
      'usage',
      `${what} contains spaces, line breaks or characters that are not ASCII`,
      {
        hint: 'the file must contain the token alone',
      },
    );
  }
  ctx.terminal.keepSecret(token);
  await warnOfUnmasked(ctx, what, token);
  const server = await ctx.servers.active();
  const loss = allowLoss ? 'allow' : 'refuse';
  const { before, ...stored } = await server.git.connect(
    { git_provider, token, host: host ?? null },
    loss,
  );
  if (before === 'present')
    await ctx.notice(`the server had a token for ${git_provider}; it was replaced`);
  await ctx.out.change(gitProviderView, stored, true, `stored ${what}`);
}
