/** Model settings kept under names at the server; not to be mixed up with `acs profile`, which names servers. */
import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { declareChange } from './change.ts';
import { declareRead } from './read.ts';
import { declareSave } from './save.ts';

export function declareModelProfile(parent: Command, ctx: Context): void {
  const command = parent.command('profile').alias('profiles').description('manage stored model settings of the server');
  declareRead(command, ctx);
  declareSave(command, ctx);
  declareChange(command, ctx);
}
