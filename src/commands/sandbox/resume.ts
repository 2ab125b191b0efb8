import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { sandboxView } from './view.ts';
import { withPausedOthers } from '../paused-others.ts';
import { addChangeOptions, changeSandboxes, type SandboxChangeOptions, type SandboxVerb } from './change.ts';
import type { WaitOptions } from '../wait-limit.ts';
import { moveSandbox, RESUME, type Transition } from './transition.ts';

const resume: SandboxVerb = {
  word: 'resume',
  pastTense: 'resumed',
  apply: (ctx, target, request) => moveSandbox(ctx, RESUME, target, request),
  around: withPausedOthers,
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
  command.action((ids: string[], options: SandboxChangeOptions) => changeSandboxes(ctx, resume, ids, options));
}

/** One sandbox, which must be of the spec that was named. */
export async function resumeSandbox(
  id: string,
  { spec, wait, waitTimeout, timeout }: WaitOptions & { spec?: string },
  ctx: Context,
): Promise<void> {
  const verb = spec === undefined ? resume : resumeOf(spec);
  await changeSandboxes(ctx, verb, [id], { wait, waitTimeout, timeout });
}

function resumeOf(spec: string): SandboxVerb {
  const transition: Transition = { to: 'running', request: (server, id) => server.sandboxes.resume(id, spec) };
  return {
    ...resume,
    apply: (ctx, target, request) => {
      const { id, spec_id: its } = target.seen;
      if (its !== spec)
        throw new AppError('conflict', `sandbox ${id} is of the spec ${its ?? '(unknown)'}, not ${spec}`);
      return moveSandbox(ctx, transition, target, request);
    },
  };
}
