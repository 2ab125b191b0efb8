import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import type { Change } from '../bulk.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { sandboxView } from './view.ts';
import type { Target } from '../resource/resource.ts';
import {
  addChangeOptions,
  changeSandboxes,
  refuseRuns,
  type SandboxChangeOptions,
  type SandboxRequest,
  type SandboxVerb,
} from './change.ts';
import { gone, readOrGone } from './sandboxes.ts';
import { waitForStatus } from './wait-for-status.ts';

const remove: SandboxVerb = {
  word: 'delete',
  pastTense: 'deleted',
  confirms: 'always',
  apply: deleteOne,
  ifGone: ({ id, seen }, { options }) =>
    options.ignoreNotFound ? { changed: false, before: null, after: null, record: gone(id, seen) } : null,
};

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent.command('delete').aliases(['rm', 'remove']);
  command.description('delete sandboxes and their files');
  addChangeOptions(command)
    .option('--force', 'also delete sandboxes with a run in progress')
    .option('--ignore-not-found', 'succeed when a sandbox does not exist');
  explain(command, {
    notes: ['Asks for confirmation unless -y is given. The conversations can still be read, but cannot continue.'],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox delete @last -y', does: 'delete the sandbox of the last conversation' },
      {
        command: 'acs sandbox delete --status paused --older-than 7d --dry-run',
        does: 'print the requests without sending them',
      },
    ],
  });
  command.action((ids: string[], options: SandboxChangeOptions) => changeSandboxes(ctx, remove, ids, options));
}

async function deleteOne(
  ctx: TimedContext,
  target: Target<Sandbox>,
  { options }: SandboxRequest,
): Promise<Change<Sandbox>> {
  const { server, id, seen } = target;
  await refuseRuns('delete', target, options);
  try {
    await server.sandboxes.remove(id);
  } catch (error) {
    // The server may have carried it out: the read after the deadline shows.
    if (!ctx.deadline.isOver(error)) throw error;
  }
  if (options.wait === false) {
    const now = await readOrGone(server, id, seen);
    const isGone = now.status === 'missing';
    return { changed: now.status !== seen.status, before: seen.status, after: isGone ? null : now.status, record: now };
  }
  await waitForStatus(ctx, { server, id, wanted: ['missing'] });
  return { changed: true, before: seen.status, after: null, record: gone(id, seen) };
}
