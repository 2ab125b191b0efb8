import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Secret } from '../../domain/secret.ts';
import { isAppError } from '../../errors.ts';
import { changeEach, changeOne, confirmChange, readIds, type Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { checkSecretName } from './value.ts';
import { secretView } from './view.ts';

interface DeleteOptions {
  ignoreNotFound?: boolean;
}

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent.command('delete').aliases(['rm', 'remove']).description('delete secrets');
  command
    .argument('<name...>', 'secrets; - reads names from stdin')
    .option('--ignore-not-found', 'succeed when a secret does not exist');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. Running conversations keep the value they were started with; revoke it at its issuer.',
    ],
    json: ({ changeForms }) => changeForms(secretView, ['one name', 'several names']),
    exits: ['failed', 'not-found', 'unsupported'],
    examples: [
      { command: 'acs secret delete NPM_TOKEN', does: 'delete one secret after a question' },
      {
        command: 'acs secret delete NPM_TOKEN DEPLOY_KEY -y --ignore-not-found',
        does: 'delete two secrets in a script',
      },
    ],
  });
  command.action((names: string[], options: DeleteOptions) => deleteSecrets(names, options, ctx));
}

export async function deleteSecrets(given: readonly string[], options: DeleteOptions, ctx: Context): Promise<void> {
  const single = given.length === 1 && given[0] !== '-';
  ctx.out.check(secretView, single ? 'item' : 'bulk');
  const names = await readIds(ctx, given);
  for (const name of names) checkSecretName(name);
  const server = await ctx.server();
  const apply = async ({ id: name }: { id: string }): Promise<Change<Secret>> => {
    const record = { name, description: null };
    try {
      await server.secrets.remove(name);
      return { changed: true, before: 'present', after: null, record };
    } catch (error) {
      if (!options.ignoreNotFound || !isAppError(error) || error.kind !== 'not-found') throw error;
      return { changed: false, before: null, after: null, record };
    }
  };
  const targets = names.map((id) => ({ id, server }));
  if (targets.length > 0) {
    const what = targets.length === 1 ? `secret ${names[0] ?? ''}` : `${targets.length} secrets`;
    await confirmChange(ctx, {
      message: `delete ${what}?`,
      preview: single ? [] : names.map((name) => `secret ${name}`),
    });
  }
  const [first] = targets;
  if (single && first !== undefined) return await changeOne(ctx, secretView, () => apply(first));
  await changeEach(ctx, { targets, unresolved: [], pastTense: 'deleted', apply });
}
