import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { GitProvider } from '../../domain/git-provider.ts';
import { isAppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { changeEach, changeOne, confirmChange, readIds, type Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { gitProviderView } from './view.ts';

interface DeleteOptions {
  ignoreNotFound?: boolean;
  allowLoss?: boolean;
}

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent.command('delete').aliases(['rm', 'remove']).description('delete tokens of git providers');
  command
    .argument('<provider...>', 'git providers; - reads names from stdin')
    .option('--ignore-not-found', 'succeed when the server has no token of a provider')
    .option('--allow-loss', 'delete although the server may drop tokens of other providers');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The tokens of other providers are kept. The server forgets the token; revoke it at the provider.',
      'A server without settings does not report which providers it has tokens for. Then nothing is deleted (exit 6); with --allow-loss the tokens of all providers are.',
    ],
    json: ({ changeForms }) => changeForms(gitProviderView, ['one provider', 'several providers']),
    exits: ['failed', 'not-found', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs git-provider delete github', does: 'delete one token after a question' },
      {
        command: 'acs git-provider delete github gitlab -y --ignore-not-found',
        does: 'delete two tokens in a script',
      },
    ],
  });
  command.action((names: string[], options: DeleteOptions) => deleteProviders(names, options, ctx));
}

async function deleteProviders(given: readonly string[], options: DeleteOptions, ctx: Context): Promise<void> {
  const single = given.length === 1 && given[0] !== '-';
  ctx.out.check(gitProviderView, single ? 'item' : 'bulk');
  const names = await readIds(ctx, given);
  const server = await ctx.server();
  const apply = async ({ id: name }: { id: string }): Promise<Change<GitProvider>> => {
    const record = { git_provider: name, host: null };
    try {
      await server.git.disconnect(name, options.allowLoss ? 'allow' : 'refuse');
      return { changed: true, before: 'present', after: null, record };
    } catch (error) {
      if (!options.ignoreNotFound || !isNotFound(error)) throw error;
      return { changed: false, before: null, after: null, record };
    }
  };
  const targets = names.map((id) => ({ id }));
  const present = names.length === 0 ? [] : await withToken(server, names, options);
  if (present.length > 0) {
    const what =
      present.length === 1 ? `the token of ${present[0] ?? ''}` : `the tokens of ${present.length} providers`;
    await confirmChange(ctx, {
      message: `delete ${what}?`,
      preview: single ? [] : present.map((name) => `token of ${name}`),
    });
  }
  const [first] = targets;
  if (single && first !== undefined) return await changeOne(ctx, gitProviderView, () => apply(first));
  // One at a time: each deletion writes the whole map.
  await changeEach(ctx, { targets, unresolved: [], pastTense: 'deleted', concurrency: 1, apply });
}

/** Those that the server has a token for: only their deletion is a change, which needs a confirmation. */
async function withToken(server: Server, names: readonly string[], { allowLoss }: DeleteOptions): Promise<string[]> {
  try {
    const stored = new Set((await server.git.providers()).map(({ git_provider }) => git_provider));
    return names.filter((name) => stored.has(name));
  } catch (error) {
    // With --allow-loss the tokens are deleted although the server does not report them.
    if (allowLoss && isAppError(error) && error.kind === 'conflict') return [...names];
    throw error;
  }
}
