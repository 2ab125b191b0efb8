import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { withinDeadline } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { sandboxView } from './view.ts';
import { withPausedOthers } from '../paused-others.ts';
import { addChangeOptions, changeSandboxes, type ChangeOptions, type SandboxVerb } from './change.ts';
import { checkLimitHasWait, limitsOf, type WaitOptions } from './settle.ts';
import { moveSandbox, RESUME, type Transition } from './transition.ts';

const resume: SandboxVerb = {
  word: 'resume',
  past: 'resumed',
  asks: 'by-selector',
  interrupts: 'nothing',
  apply: (ctx, target, options) => moveSandbox(ctx, RESUME, target, options),
};

export function declareResume(parent: Command, ctx: Context): void {
  const command = parent.command('resume').description('resume paused sandboxes, without continuing their runs');
  addChangeOptions(command);
  explain(command, {
    notes: [
      'A running sandbox is left unchanged: exit 0, "changed":false.',
      'To continue an unfinished run use `acs conv resume`.',
    ],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox resume @last', does: 'resume the sandbox of the last conversation' },
      { command: 'acs sandbox list --status paused -q | acs sandbox resume -', does: 'resume all paused sandboxes' },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => resumeSandboxes(ids, options, ctx));
}

/** One sandbox, which must be of the spec that was named. */
export async function resumeSandbox(
  id: string,
  { spec, wait, waitTimeout, timeout }: WaitOptions & { spec?: string },
  ctx: Context,
): Promise<void> {
  const verb = spec === undefined ? resume : resumeOf(spec);
  await resumeAll(ctx, verb, [id], { wait, waitTimeout, timeout });
}

function resumeOf(spec: string): SandboxVerb {
  const transition: Transition = { to: 'running', request: (server, id) => server.sandboxes.resume(id, spec) };
  return {
    ...resume,
    apply: (ctx, target, options) => {
      const { id, spec_id: its } = target.seen;
      if (its !== spec)
        throw new AppError('conflict', `sandbox ${id} is of the spec ${its ?? '(unknown)'}, not ${spec}`);
      return moveSandbox(ctx, transition, target, options);
    },
  };
}

async function resumeSandboxes(ids: readonly string[], options: ChangeOptions, ctx: Context): Promise<void> {
  await resumeAll(ctx, resume, ids, options);
}

async function resumeAll(
  ctx: Context,
  verb: SandboxVerb,
  ids: readonly string[],
  options: ChangeOptions,
): Promise<void> {
  checkLimitHasWait(options);
  await withinDeadline(ctx, limitsOf(ctx, options), (timed) =>
    withPausedOthers(timed, () => changeSandboxes(timed, verb, ids, options)),
  );
}
