import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { DiffBase, Server, WorkspaceDiff } from '../../client/shared/server.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { changedFiles, patchFiles, type ChangedFile } from '../../domain/patch.ts';
import { safeLine } from '../../base/text/safe-text.ts';
import { shortenIds } from '../../output/render.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import type { ResumeOptions } from '../shared/in-sandbox.ts';
import { checkWord } from '../shared/resource.ts';
import { conversations } from './conversations.ts';
import { findStarted, openConversation } from './find-conversation.ts';
import { needsResume, resumeSandbox } from './resume-sandbox.ts';

interface DiffOptions {
  stat?: boolean;
  nameOnly?: boolean;
  resume?: boolean;
}

export const fileView: View<ChangedFile> = {
  noun: 'changed file',
  id: (file) => file.path,
  fields: [
    { name: 'path', weight: 3 },
    { name: 'status', weight: 0 },
    { name: 'added', as: 'number', weight: 0 },
    { name: 'removed', as: 'number', weight: 0 },
  ],
};

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .argument('[other]', 'compare with this conversation, which started from the same commit')
    .option('--stat', 'list the changed files with their added and removed lines')
    .option('--name-only', 'list the paths of the changed files')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Prints a unified diff as git does, byte for byte; --json and --fields list the ' +
        'changed files. Without changes there is only a notice on stderr.',
      'With two conversations it prints the changes from the workspace of the first to that of ' +
        'the second, with the ids in place of a/ and b/.',
      'A conversation on the machine of its server may have a worktree that is gone: then its ' +
        'branch is compared, and a warning names what is left out.',
      'No filter of git runs: files of Git LFS are pointers in the workspace, and changed ' +
        'ones are left out by name.',
    ],
    isRaw: true,
    json: ({ listForm }) => [listForm(fileView)],
    exits: ['not-found', 'conflict'],
    examples: {
      'acs conv diff @last --stat': 'list the files that the last conversation changed',
      'acs conv diff @last | git apply': 'apply the changes to the current checkout',
      'acs conv diff 4be1f0c2 7a99c1d0 --stat': 'list the files in which two attempts differ',
    },
  });
  command.action(async (id: string, other: string | undefined, options: DiffOptions) => {
    ctx.out.page();
    await printDiff(id, { ...options, other }, ctx);
  });
}

export async function printDiff(
  word: string,
  options: DiffOptions & { other?: string | undefined },
  ctx: Context,
): Promise<void> {
  const { format, fields } = ctx.globals;
  const { stat = false, nameOnly = false, resume, other } = options;
  if (stat && nameOnly) throw new AppError('usage', '--stat and --name-only cannot be combined');
  const isList = stat || (format ?? fields) !== undefined;
  if (isList) ctx.out.check(fileView, 'list');
  else ctx.out.check(null, 'raw');
  if (other !== undefined) checkWord(conversations, other);
  const { server, conversation } = await openConversation(ctx, word);
  const diff =
    other === undefined
      ? await readChanges(ctx, server, conversation, { resume })
      : await compareTwo(ctx, server, [conversation, await findStarted(ctx, server, other)], {
          resume,
        });
  // An empty list is reported with the omissions.
  if (isList) await ctx.out.list(fileView, changedFiles(diff), { has_more: false }, '');
  else if (nameOnly)
    await ctx.out.raw(diff.changes.map(({ path }) => `${safeLine(path)}\n`).join(''));
  else await ctx.out.raw(diff.patch);
  await reportOmissions(ctx, diff, other && 'the workspaces do not differ');
}

/** The changes from the workspace of the first to that of the second. */
async function compareTwo(
  ctx: Context,
  server: Server,
  pair: readonly [Conversation, Conversation],
  options: ResumeOptions,
): Promise<WorkspaceDiff> {
  const names = shortenIds(pair.map(({ id }) => id));
  const sides: (WorkspaceDiff & { whole: Uint8Array; name: string; from: string })[] = [];
  for (const [index, conversation] of pair.entries()) {
    const diff = await readChanges(ctx, server, conversation, options);
    const whole = await compareWorkspace(ctx, server, conversation.id, 'nothing');
    const name = names[index] ?? '';
    const repository = conversation.repository ?? 'no repository';
    // A commit is the same in every clone of a repository.
    const from = diff.base === null ? repository : `commit ${diff.base}`;
    sides.push({ ...diff, whole: whole.patch, name, from });
  }
  const [one, two] = sides;
  if (one?.from !== two?.from)
    throw new AppError(
      'conflict',
      `only runs of one start can be compared: ${one?.name} started from ${one?.from}, ` +
        `${two?.name} from ${two?.from}`,
    );
  const { patch, submodules } = await (await ctx.git.retriever()).between(sides);
  const files = patchFiles(new TextDecoder().decode(patch)).values();
  return {
    base: null,
    patch,
    changes: [...files].map(({ path, status }) => ({ path, status })),
    omissions: [
      ...sides.flatMap(({ name, omissions }) => omissions.map((text) => `${name}: ${text}`)),
      ...submodules.map((path) => `${path}: a submodule, of which only the commit changed`),
    ],
  };
}

export async function readChanges(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: ResumeOptions & { against?: DiffBase },
): Promise<WorkspaceDiff> {
  if (needsResume(conversation)) await resumeSandbox(ctx, server, conversation, options);
  return await compareWorkspace(ctx, server, conversation.id, options.against);
}

export async function compareWorkspace(
  ctx: Context,
  server: Server,
  id: string,
  against: DiffBase = 'start',
): Promise<WorkspaceDiff> {
  const progress = await ctx.terminal.progress(
    `conversation ${id}: comparing the workspace`,
    'nothing',
  );
  try {
    const onRead = (read: number, of: number): void =>
      progress.update(`${read} of ${of} files compared`);
    return await server.conversations.diff(id, { onRead, against });
  } finally {
    await progress.done();
  }
}

export async function reportOmissions(
  ctx: Context,
  diff: WorkspaceDiff,
  unchanged = 'nothing changed in the workspace',
): Promise<void> {
  for (const omission of diff.omissions) await ctx.warn(`left out: ${omission}`);
  if (diff.changes.length > 0 || diff.patch.length > 0) return;
  await ctx.notice(diff.omissions.length === 0 ? unchanged : 'no other changes were found');
}
