/**
 * `acs profile`: named servers and where their keys are. Storing and resolving is in src/profiles; here is what a person
 * asks for and sees.
 */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareAdd } from './add.ts';
import { declareDelete } from './delete.ts';
import { declareList } from './list.ts';
import { declareRename } from './rename.ts';
import { declareShow } from './show.ts';
import { declareUse } from './use.ts';

export function declareProfile(root: Command, ctx: Context): void {
  const profile = root.command('profile').description('store servers and their keys under names');
  declareAdd(profile, ctx);
  declareList(profile, ctx);
  declareShow(profile, ctx);
  declareUse(profile, ctx);
  declareRename(profile, ctx);
  declareDelete(profile, ctx);
}
