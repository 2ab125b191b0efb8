import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { AppError, isAppError, isNotFound, nullIf } from '../../base/errors.ts';
import { GRACE_MS, withinLimit } from '../../runs/deadline.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Change } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import {
  addChoice,
  changeRecords,
  type ChangeOptions,
  type ChangeRequest,
  type Verb,
} from '../shared/change.ts';
import { conversationsIn, refuseRunsOf, runsIn } from '../shared/in-sandbox.ts';
import { forgetLast, type Preview, type Target } from '../shared/resource.ts';
import { conversationLine, conversations, conversationView, idOrTaskId } from './conversations.ts';

interface DeleteOptions extends ChangeOptions {
  withSandbox?: boolean;
  withWorktree?: boolean;
}

export function declare(command: Command, ctx: Context): void {
  addChoice(command, conversations, CONVERSATION_STATUSES)
    .option('--force', 'also delete while a run is in progress, and what --with-worktree refuses')
    .option('--with-sandbox', 'also delete the sandbox, whatever other conversations are in it')
    .option(
      '--with-worktree',
      'also remove the worktree and branch, or clone, that was made for the conversation ' +
        '(a server that runs conversations on its own machine)',
    )
    .option('--ignore-not-found', 'succeed when a conversation does not exist');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The server also deletes a sandbox that no ' +
        'other conversation uses. A server without the V1 route for deletion may delete a ' +
        'shared sandbox too: there --with-sandbox is required for a conversation in a shared ' +
        'sandbox (6).',
      'Where conversations run on the machine of the server, the files stay: a line on stderr ' +
        'names the worktree and branch, and the command that removes them. --with-worktree ' +
        'removes them first; changes that are not committed, and commits that no other branch ' +
        'has, are exit 6 without --force. Other folders are never removed.',
    ],
    json: ({ changeForms }) => changeForms(conversationView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict'],
    examples: {
      'acs conv delete @last --with-sandbox -y': 'delete it and its sandbox',
      'acs conv delete @last --with-worktree -y': 'delete it, its worktree and its branch',
      'acs conv delete --status finished --older-than 30d --dry-run': 'print what would be deleted',
    },
  });
  command.action((ids: string[], options: DeleteOptions) =>
    changeRecords(
      ctx,
      options.withSandbox ? { ...removal, preview: previewWithSandboxes } : removal,
      ids,
      options,
    ),
  );
}

const removal: Verb<Context, Conversation, DeleteOptions> = {
  resource: conversations,
  word: 'delete',
  pastTense: 'deleted',
  confirms: 'always',
  async apply(ctx, target, request) {
    const change = await deleteOne(ctx, target, request);
    const { id, start_task_id } = target.seen;
    await forgetLast(ctx, target.server, [id, start_task_id]);
    return change;
  },
  // The deletion of another target may have deleted this one (quirk deleted-neighbours).
  ifGone({ id, seen }, { targets, options: { ignoreNotFound } }) {
    const { sandbox_id } = seen;
    const hadNeighbour =
      sandbox_id !== null &&
      targets.some((other) => other.id !== id && other.seen.sandbox_id === sandbox_id);
    if (hadNeighbour) return { changed: true, before: seen.status, after: null, record: seen };
    return ignoreNotFound ? { changed: false, before: null, after: null, record: seen } : null;
  },
};

async function deleteOne(
  ctx: Context,
  target: Target<Conversation>,
  { options, targets, unchanged }: ChangeRequest<Conversation, DeleteOptions>,
): Promise<Change<Conversation>> {
  const { server, seen } = target;
  const { id, status, sandbox_id: sandboxId } = seen;
  if (id === '')
    throw new AppError('conflict', `start task ${idOrTaskId(seen)} has no conversation to delete`);
  const isSpared = ({ matches }: Target<Conversation>, now: Conversation): boolean =>
    matches !== undefined && !options.force && isRunInProgress(now);
  if (isSpared(target, seen))
    throw new AppError('conflict', `conversation ${id} is ${status}`, {
      hint: 'stop it first, or delete it with --force',
    });
  const alsoGone = (other: Conversation): boolean => {
    const its = targets.find(({ seen: chosen }) => chosen.id === other.id);
    return (
      its !== undefined &&
      !unchanged.has(its) &&
      its.matches?.(other) !== false &&
      !isSpared(its, other)
    );
  };
  if (options.withWorktree) await removeWorktree(target, options);
  const done = { changed: true, before: status, after: null, record: seen };
  if (!options.withSandbox || sandboxId === null) {
    await server.conversations.remove(id, { alsoGone: options.withSandbox ? 'any' : alsoGone });
    return done;
  }
  // Read before each of the two changes: a run that starts meanwhile keeps the sandbox.
  const refuseOtherRuns = async (about: string): Promise<void> => {
    if (options.force) return;
    const runs = (await runsIn(server, sandboxId)).filter((one) => one.id !== id && !alsoGone(one));
    refuseRunsOf(runs, { sandboxId, verb: 'delete', about });
  };
  await refuseOtherRuns(`the sandbox of conversation ${id} has another run in progress`);
  await server.conversations.remove(id, { alsoGone: 'any' });
  await refuseOtherRuns(
    `conversation ${id} was deleted, but its sandbox ${sandboxId} has a run in progress`,
  );
  try {
    await server.sandboxes.remove(sandboxId).catch(nullIf(isNotFound));
    await untilMissing(ctx, server, sandboxId);
  } catch (error) {
    if (!isAppError(error)) throw error;
    throw error.with(
      {
        retryable: false,
        hint: `delete the sandbox: acs sandbox delete ${sandboxId}`,
        data: { ...error.details.data, sandbox_id: sandboxId },
      },
      `conversation ${id} was deleted, but its sandbox was not: ${error.message}`,
    );
  }
  return done;
}

async function removeWorktree(
  { server, seen }: Target<Conversation>,
  { force }: DeleteOptions,
): Promise<void> {
  const { id, status, waiting_for } = seen;
  if (!force && isRunInProgress(seen))
    throw new AppError('conflict', `conversation ${id} is ${status}: its run uses the worktree`, {
      // A stop leaves a run that waits for a confirmation as it is.
      hint:
        waiting_for === 'confirmation'
          ? `answer it first: acs conv confirm ${id} --reject`
          : `stop it first: acs conv stop ${id}`,
    });
  await server.conversations.removeWorktree(id, force ? 'remove' : 'refuse');
}

/** A server may accept the deletion before its record shows it. */
async function untilMissing(ctx: Context, server: Server, sandboxId: string): Promise<void> {
  const over = new AppError('server', 'the server accepted the deletion and still returns it');
  await withinLimit(ctx, server, { mostMs: GRACE_MS, over }, async (bounded, signal) => {
    const isMissing = async () => {
      const sandbox = await bounded.sandboxes.get(sandboxId).catch(nullIf(isNotFound));
      return sandbox === null || sandbox.status === 'missing' || undefined;
    };
    await poll(isMissing, { clock: ctx.clock, signal, every: QUICK });
  });
}

async function previewWithSandboxes(
  ctx: Context,
  targets: readonly Target<Conversation>[],
): Promise<Preview> {
  const server = await ctx.servers.active();
  const { preview } = conversations.preview(targets);
  const sandboxIds = [...new Set(targets.flatMap(({ seen }) => seen.sandbox_id ?? []))];
  let others = 0;
  for (const sandboxId of sandboxIds) {
    const found = await conversationsIn(server, sandboxId);
    const neighbours = found.filter(({ id }) => !targets.some(({ seen }) => seen.id === id));
    preview.push(`sandbox ${sandboxId}`);
    preview.push(...neighbours.map((other) => `in the same sandbox: ${conversationLine(other)}`));
    others += neighbours.length;
  }
  if (sandboxIds.length === 0) return { preview, suffix: '' };
  const what =
    sandboxIds.length === 1 ? `sandbox ${sandboxIds[0] ?? ''}` : `${sandboxIds.length} sandboxes`;
  const shared = others === 0 ? '' : ` with ${others} other conversation${others === 1 ? '' : 's'}`;
  return { preview, suffix: `, and ${what}${shared}` };
}
