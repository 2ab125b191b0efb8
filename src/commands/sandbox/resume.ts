import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { withPausedOthers } from '../paused-others.ts';
import { addChangeOptions, changeSandboxes, type ChangeOptions, type SandboxVerb } from './change.ts';
import { checkLimitHasWait } from './settle.ts';
import { moveSandbox, RESUME } from './transition.ts';
import { BULK_JSON, SANDBOX_JSON } from './view.ts';

const resume: SandboxVerb = {
  word: 'resume',
  past: 'resumed',
  asks: 'by-selector',
  interrupts: 'nothing',
  apply: (ctx, target, options) => moveSandbox(ctx, RESUME, target, options),
};

export function declareResume(parent: Command, ctx: Context): void {
  const command = parent.command('resume').description('let paused sandboxes go on; runs are not continued by it');
  addChangeOptions(command);
  explain(command, {
    notes: [
      'A sandbox that is running already is left as it is ("changed": false).',
      'To go on with an unfinished run, use acs conv resume.',
    ],
    json: [`${SANDBOX_JSON} plus "changed"   one id`, BULK_JSON],
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox resume @last', does: 'wakes the sandbox of the last conversation' },
      { command: 'acs sandbox list --status paused -q | acs sandbox resume -', does: 'wakes all that are paused' },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => resumeSandboxes(ids, options, ctx));
}

export async function resumeSandboxes(ids: readonly string[], options: ChangeOptions, ctx: Context): Promise<void> {
  checkLimitHasWait(options);
  await withPausedOthers(ctx, () => changeSandboxes(ctx, resume, ids, options));
}
