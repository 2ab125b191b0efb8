/** The git providers of a server: which ones it has a token for. Tokens are never shown. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { printList } from '../paging.ts';
import { declareDelete } from './delete.ts';
import { declareSet } from './set.ts';
import { gitProviderView } from './view.ts';

export function declareGitProvider(root: Command, ctx: Context): void {
  const command = root
    .command('git-provider')
    .alias('git-providers')
    .description('manage the tokens of git providers on the server');
  declareList(command, ctx);
  declareSet(command, ctx);
  declareDelete(command, ctx);
}

function declareList(parent: Command, ctx: Context): void {
  const command = parent
    .command('list')
    .alias('ls')
    .description('list the git providers that the server has a token for');
  explain(command, {
    notes: ['Tokens are never shown. Without a host the token is for the public host of the provider.'],
    json: ({ listForm }) => [listForm(gitProviderView)],
    exits: ['failed', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs git-provider list', does: 'list providers and their hosts' },
      { command: 'acs git-provider list -q', does: 'print the names of the providers' },
    ],
  });
  command.action(() => listProviders(ctx));
}

async function listProviders(ctx: Context): Promise<void> {
  await printList(ctx, {
    view: gitProviderView,
    paging: { allPages: true },
    fetch: async (server) => ({ items: await server.git.providers(), next: null }),
  });
}
