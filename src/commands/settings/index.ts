/** The noun `settings`: the user's settings on the server, under the same flat names on every dialect. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareEdit } from './edit.ts';
import { declareGet } from './get.ts';
import { declareModelProfile } from './profile/index.ts';
import { declareSchema } from './schema.ts';
import { declareSet } from './set.ts';
import { declareUnset } from './unset.ts';

export function declareSettings(root: Command, ctx: Context): void {
  const command = root.command('settings').alias('setting').description('read and change your settings on the server');
  declareGet(command, ctx);
  declareSet(command, ctx);
  declareUnset(command, ctx);
  declareEdit(command, ctx);
  declareSchema(command, ctx);
  declareModelProfile(command, ctx);
}
