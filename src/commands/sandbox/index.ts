/** The noun `sandbox`. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareDelete } from './delete.ts';
import { declareList } from './list.ts';
import { declarePause } from './pause.ts';
import { declareResume } from './resume.ts';
import { declareShow } from './show.ts';
import { declareStart } from './start.ts';
import { declareWait } from './wait.ts';

export function declareSandbox(root: Command, ctx: Context): void {
  const command = root.command('sandbox').alias('sb').description('list, pause, resume and delete sandboxes');
  declareList(command, ctx);
  declareShow(command, ctx);
  declareStart(command, ctx);
  declarePause(command, ctx);
  declareResume(command, ctx);
  declareWait(command, ctx);
  declareDelete(command, ctx);
}
