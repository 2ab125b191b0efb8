import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { DiffBase, Server, WorkspaceDiff } from '../../client/shared/server.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { changedFiles, type ChangedFile } from '../../domain/patch.ts';
import { safeLine } from '../../base/text/safe-text.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import type { ResumeOptions } from '../shared/in-sandbox.ts';
import { openConversation } from './conversations.ts';
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
    .option('--stat', 'list the changed files with their added and removed lines')
    .option('--name-only', 'list the paths of the changed files')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Prints a unified diff as git does, byte for byte; --json and --fields list the ' +
        'changed files. Without changes there is only a notice on stderr.',
      'No filter of git runs: files of Git LFS are pointers in the workspace, and changed ' +
        'ones are left out by name.',
    ],
    json: ({ listForm }) => [listForm(fileView)],
    exits: ['not-found', 'conflict'],
    examples: [
      {
        command: 'acs conv diff @last --stat',
        does: 'list the files that the last conversation changed',
      },
      {
        command: 'acs conv diff @last | git apply',
        does: 'apply the changes to the current checkout',
      },
    ],
  });
  command.action(async (id: string, options: DiffOptions) => {
    ctx.out.page();
    await printDiff(id, options, ctx);
  });
}

export async function printDiff(word: string, options: DiffOptions, ctx: Context): Promise<void> {
  const { format, fields } = ctx.globals;
  const { stat = false, nameOnly = false, resume } = options;
  if (stat && nameOnly) throw new AppError('usage', '--stat and --name-only cannot be combined');
  const isList = stat || (format ?? fields) !== undefined;
  if (isList) ctx.out.check(fileView, 'list');
  else ctx.out.check(null, 'raw');
  const { server, conversation } = await openConversation(ctx, word);
  const diff = await readChanges(ctx, server, conversation, { resume });
  if (isList) await ctx.out.list(fileView, changedFiles(diff), { has_more: false });
  else if (nameOnly)
    await ctx.out.raw(diff.changes.map(({ path }) => `${safeLine(path)}\n`).join(''));
  else await ctx.out.raw(diff.patch);
  await reportOmissions(ctx, diff);
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

export async function reportOmissions(ctx: Context, diff: WorkspaceDiff): Promise<void> {
  for (const omission of diff.omissions) await ctx.warn(`left out: ${omission}`);
  if (diff.changes.length > 0 || diff.patch.length > 0) return;
  await ctx.notice(
    diff.omissions.length === 0
      ? 'nothing changed in the workspace'
      : 'no other changes were found',
  );
}
