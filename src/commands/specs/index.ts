/** The noun `specs`: what sandboxes are created from. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareList } from './list.ts';
import { declareShow } from './show.ts';

export function declareSpecs(root: Command, ctx: Context): void {
  const command = root.command('specs').alias('spec').description('list the specs that sandboxes are created from');
  declareList(command, ctx);
  declareShow(command, ctx);
}
