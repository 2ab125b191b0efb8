import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { sandboxView } from './view.ts';
import {
  addChangeOptions,
  changeSandboxes,
  refuseRuns,
  type SandboxChangeOptions,
  type SandboxVerb,
} from './change.ts';
import { moveSandbox, PAUSE } from './transition.ts';

const pause: SandboxVerb = {
  word: 'pause',
  past: 'paused',
  asks: 'by-selector',
  async apply(ctx, target, request) {
    if (target.chosenBy === 'selector') await refuseRuns('pause', target, request.options);
    return await moveSandbox(ctx, PAUSE, target, request);
  },
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
  command.action((ids: string[], options: SandboxChangeOptions) => changeSandboxes(ctx, pause, ids, options));
}
