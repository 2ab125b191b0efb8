import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changedFiles, type ChangedFile } from '../../domain/patch.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { readChanges, reportOmissions } from './changes.ts';
import { conversations } from './conversations.ts';
import { findStarted } from './started.ts';

export interface DiffOptions {
  stat?: boolean;
  resume?: boolean;
}

export const fileView: View<ChangedFile> = {
  noun: 'changed file',
  id: (file) => file.path,
  fields: [
    { name: 'path', get: (file) => file.path, weight: 3 },
    { name: 'status', get: (file) => file.status, weight: 0 },
    { name: 'added', get: (file) => file.added, as: 'number', weight: 0 },
    { name: 'removed', get: (file) => file.removed, as: 'number', weight: 0 },
  ],
  table: ['path', 'status', 'added', 'removed'],
  tsv: ['path', 'status', 'added', 'removed'],
};

export function declareDiff(parent: Command, ctx: Context): void {
  const command = parent.command('diff').description('print the changes in the workspace since the run started');
  command
    .argument('<id>', 'the conversation')
    .option('--stat', 'list the changed files with their added and removed lines')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Prints a unified diff as git does, byte for byte. Without changes nothing is printed, and a notice goes to stderr.',
    ],
    json: ({ listForm }) => [['--stat', listForm(fileView)]],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs conv diff @last --stat', does: 'list the files that the last conversation changed' },
      { command: 'acs conv diff @last | git apply', does: 'apply the changes to the current checkout' },
    ],
  });
  command.action((id: string, options: DiffOptions) => printDiff(id, options, ctx));
}

export async function printDiff(word: string, options: DiffOptions, ctx: Context): Promise<void> {
  if (options.stat) ctx.out.check(fileView, 'list');
  else ctx.out.check(null, 'raw');
  checkWord(conversations, word);
  const server = await ctx.server();
  const conversation = await findStarted(ctx, server, word);
  const command = `acs conv diff ${conversation.id}`;
  const diff = await readChanges(ctx, server, conversation, { resume: options.resume, command });
  if (options.stat) await ctx.out.list(fileView, changedFiles(diff), { has_more: false });
  else await ctx.out.raw(diff.patch);
  await reportOmissions(ctx, diff);
}
