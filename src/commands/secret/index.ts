/** The user's secrets at the server: what every sandbox gets as environment variables. Values are never shown. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareDelete } from './delete.ts';
import { declareList } from './list.ts';
import { declareSet } from './set.ts';

export function declareSecret(root: Command, ctx: Context): void {
  const command = root
    .command('secret')
    .alias('secrets')
    .description('manage the secrets that sandboxes get as variables');
  declareList(command, ctx);
  declareSet(command, ctx);
  declareDelete(command, ctx);
}
