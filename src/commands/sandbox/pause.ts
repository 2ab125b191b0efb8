import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withinDeadline } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { sandboxView } from './view.ts';
import { addChangeOptions, changeSandboxes, type ChangeOptions, type SandboxVerb } from './change.ts';
import { limitsOf } from './settle.ts';
import { moveSandbox, PAUSE } from './transition.ts';

const pause: SandboxVerb = {
  word: 'pause',
  past: 'paused',
  asks: 'by-selector',
  interrupts: 'runs',
  apply: (ctx, target, options) => moveSandbox(ctx, PAUSE, target, options),
};

export function declarePause(parent: Command, ctx: Context): void {
  const command = parent.command('pause').description('pause sandboxes: their processes stop, their files are kept');
  addChangeOptions(command).option('--force', 'also pause selected sandboxes with a run in progress');
  explain(command, {
    notes: ['A paused sandbox is left unchanged: exit 0, "changed":false.'],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox pause @last', does: 'pause the sandbox of the last conversation' },
      {
        command: 'acs sandbox pause --idle 2h -y',
        does: 'pause all sandboxes that were idle for two hours',
      },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => pauseSandboxes(ids, options, ctx));
}

export async function pauseSandboxes(ids: readonly string[], options: ChangeOptions, ctx: Context): Promise<void> {
  await withinDeadline(ctx, limitsOf(ctx, options), (timed) => changeSandboxes(timed, pause, ids, options));
}
