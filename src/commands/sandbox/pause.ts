import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { withinDeadline } from '../deadline.ts';
import { explain } from '../declare.ts';
import { addChangeOptions, changeSandboxes, type ChangeOptions, type SandboxVerb } from './change.ts';
import { limitsOf } from './settle.ts';
import { moveSandbox, PAUSE } from './transition.ts';
import { BULK_JSON, SANDBOX_JSON } from './view.ts';

const pause: SandboxVerb = {
  word: 'pause',
  past: 'paused',
  asks: 'by-selector',
  interrupts: 'runs',
  apply: (ctx, target, options) => moveSandbox(ctx, PAUSE, target, options),
};

export function declarePause(parent: Command, ctx: Context): void {
  const command = parent.command('pause').description('stop every process of sandboxes; what they hold stays');
  addChangeOptions(command).option('--force', 'by selector: also those with a run in progress');
  explain(command, {
    notes: ['A sandbox that is paused already is left as it is ("changed": false).'],
    json: [`${SANDBOX_JSON} plus "changed"   one id`, BULK_JSON],
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox pause @last', does: 'pauses the sandbox of the last conversation' },
      {
        command: 'acs sandbox pause --idle 2h -y',
        does: 'pauses all sandboxes in which nothing happened for two hours',
      },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => pauseSandboxes(ids, options, ctx));
}

export async function pauseSandboxes(ids: readonly string[], options: ChangeOptions, ctx: Context): Promise<void> {
  await withinDeadline(ctx, limitsOf(ctx, options), (timed) => changeSandboxes(timed, pause, ids, options));
}
