import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import { LAST_LOOK_MS, withinLimit } from '../../runs/deadline.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import type { Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { planSteps } from '../dry-run.ts';
import { addChoice, changeRecords, type ChangeOptions, type ChangeRequest, type Verb } from '../resource/change.ts';
import { conversationsIn, refuseRunsOf, runsIn } from '../resource/in-sandbox.ts';
import type { Preview, Target } from '../resource/resource.ts';
import { conversationLine, conversations } from './conversations.ts';
import { conversationView, idOf } from './view.ts';

interface DeleteOptions extends ChangeOptions {
  withSandbox?: boolean;
}

type Request = ChangeRequest<Conversation, DeleteOptions>;

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent.command('delete').aliases(['rm', 'remove']).description('delete conversations');
  addChoice(command, conversations, CONVERSATION_STATUSES)
    .option('--force', 'also delete while a run is in progress, in a selected conversation or in its sandbox')
    .option(
      '--with-sandbox',
      'also delete the sandbox; other conversations in it cannot continue, and some servers delete them',
    )
    .option('--ignore-not-found', 'succeed when a conversation does not exist');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The server also deletes a sandbox that no other conversation uses.',
      'Servers before 1.11 may delete a sandbox that other conversations use. There a conversation whose sandbox is shared is refused (6), with the ids of the others, unless the command deletes them too or --with-sandbox is given.',
    ],
    json: ({ changeForms }) => changeForms(conversationView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict'],
    examples: [
      { command: 'acs conv delete @last -y', does: 'delete the last conversation' },
      {
        command: 'acs conv delete --status finished --older-than 30d --dry-run',
        does: 'print the requests without sending them',
      },
      { command: 'acs conv delete @last --with-sandbox -y', does: 'delete it and its sandbox' },
    ],
  });
  command.action((ids: string[], options: DeleteOptions) =>
    changeRecords(ctx, options.withSandbox ? { ...removal, preview: previewWithSandboxes } : removal, ids, options),
  );
}

const removal: Verb<Context, Conversation, DeleteOptions> = {
  resource: conversations,
  word: 'delete',
  pastTense: 'deleted',
  confirms: 'always',
  apply: deleteOne,
  ifGone: goneResult,
};

async function deleteOne(ctx: Context, target: Target<Conversation>, request: Request): Promise<Change<Conversation>> {
  const { options } = request;
  const { server, seen } = target;
  if (seen.id === '') {
    throw new AppError('conflict', `start task ${idOf(seen)} has no conversation to delete`);
  }
  if (isSpared(target, seen, options)) {
    throw new AppError('conflict', `conversation ${seen.id} is ${seen.status}`, {
      hint: 'stop it first, or delete it with --force',
    });
  }
  const done = { changed: true, before: seen.status, after: null, record: seen };
  const alsoGone = (other: Conversation): boolean => isDeletedToo(server, other, request);
  if (!options.withSandbox) {
    await server.conversations.remove(seen.id, { alsoGone });
    return done;
  }
  const check = async (about: string): Promise<void> => {
    if (!options.force) await refuseOtherRuns(server, seen, { about, isDeleted: alsoGone });
  };
  const removeIt = async (): Promise<void> => {
    await check(`the sandbox of conversation ${seen.id} has another run in progress`);
    await server.conversations.remove(seen.id, { alsoGone: 'any' });
  };
  // A deletion takes up to a minute: a run may have started meanwhile.
  const removeSandbox = async (): Promise<void> => {
    await check(`conversation ${seen.id} was deleted, but its sandbox ${seen.sandbox_id} has a run in progress`);
    await removeSandboxOf(ctx, server, seen);
  };
  if (ctx.globals.mode === 'dry-run') {
    return await planSteps(ctx, [
      { what: 'delete the conversation', task: removeIt },
      { what: 'delete its sandbox', task: removeSandbox },
    ]);
  }
  await removeIt();
  await removeSandbox();
  return done;
}

/** A selector does not choose a run in progress, unless forced. */
function isSpared({ chosenBy }: Target<Conversation>, now: Conversation, { force }: DeleteOptions): boolean {
  return chosenBy === 'selector' && !force && isRunInProgress(now);
}

/** Whether the command deletes another conversation too, in the state that was read right before. */
function isDeletedToo(server: Server, other: Conversation, { targets, unchanged, options }: Request): boolean {
  const target = targets.find((one) => one.server === server && one.seen.id === other.id);
  if (target === undefined || unchanged.has(target)) return false;
  return target.selector?.matches(other) !== false && !isSpared(target, other, options);
}

/** The deletion of another target in the same sandbox may have deleted this one (quirk deleted-neighbours). */
function goneResult(
  { seen }: Target<Conversation>,
  { targets, options: { ignoreNotFound } }: Request,
): Change<Conversation> | null {
  if (mates(seen, targets).length > 0) return { changed: true, before: seen.status, after: null, record: seen };
  return ignoreNotFound ? { changed: false, before: null, after: null, record: seen } : null;
}

/** The other targets in the same sandbox. */
function mates({ id, sandbox_id: sandboxId }: Conversation, targets: readonly Target<Conversation>[]): Conversation[] {
  if (sandboxId === null) return [];
  return targets.map(({ seen }) => seen).filter((other) => other.sandbox_id === sandboxId && other.id !== id);
}

/** The question names the sandboxes too, and the other conversations in them. */
async function previewWithSandboxes(_: Context, targets: readonly Target<Conversation>[]): Promise<Preview> {
  const isOther = ({ id }: Conversation): boolean => !targets.some((target) => target.seen.id === id);
  const bySandbox = new Map<string, { of: string; others: Conversation[] }>();
  for (const { server, profile, seen } of targets) {
    const key = `${profile ?? ''}/${seen.sandbox_id}`;
    if (seen.sandbox_id === null || bySandbox.has(key)) continue;
    const of = profile === undefined ? '' : ` of ${profile}`;
    const others = (await conversationsIn(server, seen.sandbox_id)).filter(isOther);
    bySandbox.set(key, { of: `sandbox ${seen.sandbox_id}${of}`, others });
  }
  const { preview, suffix } = conversations.preview(targets);
  const sandboxes = [...bySandbox.values()];
  const [first] = sandboxes;
  if (first === undefined) return { preview, suffix };
  const lines = sandboxes.flatMap(({ of, others }) => [
    of,
    ...others.map((other) => `in the same sandbox: ${conversationLine(other)}`),
  ]);
  const what = sandboxes.length === 1 ? first.of : `${sandboxes.length} sandboxes`;
  const count = sandboxes.reduce((sum, { others }) => sum + others.length, 0);
  const shared = count === 0 ? '' : ` with ${count === 1 ? 'another conversation' : `${count} other conversations`}`;
  return { preview: [...preview, ...lines], suffix: `, and ${what}${shared}` };
}

async function refuseOtherRuns(
  server: Server,
  seen: Conversation,
  { about, isDeleted }: { about: string; isDeleted: (other: Conversation) => boolean },
): Promise<void> {
  if (seen.sandbox_id === null) return;
  const runs = (await runsIn(server, seen.sandbox_id)).filter((one) => one.id !== seen.id && !isDeleted(one));
  refuseRunsOf(runs, { sandboxId: seen.sandbox_id, verb: 'delete', about });
}

/**
 * The server may have deleted it together with the conversation.
 * @throws AppError that names both when the sandbox is not deleted
 */
async function removeSandboxOf(
  ctx: Context,
  server: Server,
  { id, sandbox_id: sandboxId }: Conversation,
): Promise<void> {
  if (sandboxId === null) return;
  try {
    await server.sandboxes.remove(sandboxId).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (ctx.globals.mode !== 'dry-run') await untilMissing(ctx, server, sandboxId);
  } catch (error) {
    if (!isAppError(error) || ctx.globals.mode === 'dry-run') throw error;
    throw new AppError(error.kind, `conversation ${id} was deleted, but its sandbox was not: ${error.message}`, {
      ...error.details,
      exitCode: error.exitCode,
      // The conversation is no longer there.
      retryable: false,
      hint: `delete the sandbox: acs sandbox delete ${sandboxId}`,
      data: { ...error.details.data, sandbox_id: sandboxId },
    });
  }
}

/** A server may take the deletion before its record shows it. */
async function untilMissing(ctx: Context, server: Server, sandboxId: string): Promise<void> {
  await withinLimit(ctx, server, { mostMs: LAST_LOOK_MS, over: keptSandbox() }, async (bounded, signal) => {
    const isMissing = async (): Promise<true | undefined> => {
      try {
        return (await bounded.sandboxes.get(sandboxId)).status === 'missing' || undefined;
      } catch (error) {
        if (isNotFound(error)) return true;
        throw error;
      }
    };
    await poll(isMissing, { clock: ctx.clock, signal, every: QUICK });
  });
}

function keptSandbox(): AppError {
  return new AppError('server', 'the server accepted the deletion and still returns it');
}
