import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { GIT_PROVIDERS } from '../../domain/git-provider.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { readNamedFile } from '../files.ts';
import { oneOf } from '../option-parsers.ts';
import { gitProviderView } from './view.ts';

interface SetOptions {
  host?: string;
  tokenFile?: string;
  allowLoss?: boolean;
}

export function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('store a token of a git provider, or replace it');
  command
    .argument('<provider>', GIT_PROVIDERS.join(', '), oneOf(...GIT_PROVIDERS))
    .option('--host <host>', 'the host of a provider that you run yourself; without it an existing one is kept', hostOf)
    .option('--token-file <file|->', 'read the token from a file or stdin; without it acs asks for the token')
    .option('--allow-loss', 'store it although the server may drop tokens of other providers');
  explain(command, {
    notes: [
      'The token is read from a file, stdin or a prompt, never from the command line. Genuine servers try it at the provider before they store it; a token that is refused is exit 4. The tokens of other providers are kept.',
      'A server without settings does not report which providers it has tokens for. Then nothing is stored, because their tokens would be lost (exit 6), unless --allow-loss is given.',
    ],
    json: ({ objectForm }) => [objectForm(gitProviderView, 'changed')],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs git-provider set github', does: 'ask for the token without showing it' },
      {
        command: 'acs git-provider set forgejo --host git.example.com --token-file token.txt',
        does: 'store the token of a Forgejo of your own',
      },
    ],
  });
  command.action((provider: string, options: SetOptions) => setProvider(provider, options, ctx));
}

async function setProvider(git_provider: string, options: SetOptions, ctx: Context): Promise<void> {
  ctx.out.check(gitProviderView, 'item');
  const token = await readToken(ctx, git_provider, options.tokenFile);
  const server = await ctx.server();
  const loss = options.allowLoss ? 'allow' : 'refuse';
  const { before, ...stored } = await server.git.connect({ git_provider, token, host: options.host ?? null }, loss);
  if (before === 'present') await ctx.notice(`the server had a token of ${git_provider}; it was replaced`);
  await ctx.out.item(gitProviderView, stored, { changed: true });
}

/** A name, or a URL without credentials. */
function hostOf(text: string): string {
  const host = text.trim().replace(/\/+$/, '');
  const isHost = /^(https?:\/\/)?[A-Za-z0-9.[\]:_-]+(\/[\w.~/-]*)?$/.test(host);
  if (isHost && URL.canParse(host.includes('://') ? host : `https://${host}`)) return host;
  throw invalidHost();
}

/** The text is not repeated: a URL may have a token in it. */
function invalidHost(): AppError {
  return new AppError('usage', '--host: not a host', { hint: 'give a name such as git.example.com, or its URL' });
}

const WAYS = 'give it with --token-file <file>, as --token-file - on stdin, or at the prompt of a terminal';

async function readToken(ctx: Context, provider: string, file: string | undefined): Promise<string> {
  const token = (await readTokenText(ctx, provider, file)).trim();
  if (token === '') throw new AppError('usage', `the token of ${provider} is empty`, { hint: WAYS });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new AppError('usage', `the token of ${provider} has spaces, line breaks or other characters of no token`, {
      hint: 'the file must hold the token alone',
    });
  }
  ctx.keepSecret(token);
  return token;
}

async function readTokenText(ctx: Context, provider: string, file: string | undefined): Promise<string> {
  if (file === '') throw new AppError('usage', '--token-file: the path is empty', { hint: WAYS });
  if (file === '-') return new TextDecoder().decode(await ctx.io.stdin.readAll());
  if (file !== undefined) return new TextDecoder().decode(await readNamedFile(ctx, file));
  if (ctx.interactive) return await (await ctx.prompt()).secret({ message: `Token of ${provider}:` });
  throw new AppError('usage', `no token of ${provider} was given, and prompts are off`, { hint: WAYS });
}
