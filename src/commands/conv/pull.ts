import type { Command } from 'commander';
import path from 'node:path';
import type { Checkout } from '../../checkout/index.ts';
import type { Retrieved, Retriever } from '../../checkout/pull/index.ts';
import type { Context } from '../../context.ts';
import { changedFiles, lineTotals } from '../../domain/patch.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import type { Server, WorkspaceDiff } from '../../servers/server.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { readChanges, reportOmissions } from './changes.ts';
import { conversations } from './conversations.ts';
import { findStarted } from './started.ts';

interface PullOptions {
  '3way'?: boolean;
  branch?: string;
  resume?: boolean;
}

/** What was retrieved, and where it is now. */
export interface Pulled {
  conversation_id: string;
  into: 'checkout' | 'branch' | 'folder';
  /** Of the checkout or the folder. */
  path: string;
  branch: string | null;
  commit: string | null;
  base: string | null;
  files: string[];
  added: number;
  removed: number;
  conflicts: string[];
}

export const pulledView: View<Pulled> = {
  noun: 'pull',
  id: ({ conversation_id }) => conversation_id,
  fields: [
    { name: 'conversation_id', get: (pulled) => pulled.conversation_id, as: 'id', weight: 0 },
    { name: 'into', get: (pulled) => pulled.into, weight: 0 },
    { name: 'path', get: (pulled) => pulled.path, weight: 3 },
    { name: 'branch', get: (pulled) => pulled.branch, weight: 2 },
    { name: 'commit', get: (pulled) => pulled.commit, as: 'id', weight: 0 },
    { name: 'base', get: (pulled) => pulled.base, as: 'id', weight: 0 },
    { name: 'files', get: (pulled) => pulled.files, weight: 1, json: { list: true } },
    { name: 'added', get: (pulled) => pulled.added, as: 'number', weight: 0 },
    { name: 'removed', get: (pulled) => pulled.removed, as: 'number', weight: 0 },
    { name: 'conflicts', get: (pulled) => pulled.conflicts, weight: 1, json: { list: true } },
  ],
  table: ['into', 'path', 'branch', 'commit', 'files', 'added', 'removed', 'conflicts'],
  tsv: ['conversation_id', 'into', 'path', 'branch', 'commit', 'base', 'added', 'removed'],
};

export function declarePull(parent: Command, ctx: Context): void {
  const command = parent.command('pull').description('retrieve the changes into the checkout, a branch or a folder');
  command
    .argument('<id>', 'the conversation')
    .option('--3way', 'merge with later changes of the checkout; conflicts are marked in the files')
    .option('--branch <name>', "commit the changes on a new branch, with the agent's answer as the message")
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Without flags the changes become uncommitted changes of the git checkout in the current folder. All or nothing: when a file with changes of yours would be touched, or the changes do not apply to HEAD, nothing is written.',
      '--branch commits on the commit that the run started from, or on HEAD where the checkout does not have it; files and index of the checkout stay as they are. With --3way the merged files are staged too, as by `git apply --3way`.',
      '-o <dir> writes the added and changed files into a new folder; deleted files are not in it.',
    ],
    json: ({ objectForm }) => [objectForm(pulledView, 'changed')],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs conv pull @last', does: 'apply the changes of the last conversation to this checkout' },
      { command: 'acs conv pull @last --branch agent/login-tests', does: 'commit them on a new branch' },
      { command: 'acs conv pull @last -o ./result', does: 'write the changed files into a new folder' },
    ],
  });
  command.action((id: string, options: PullOptions) => pull(id, options, ctx));
}

async function pull(word: string, options: PullOptions, ctx: Context): Promise<void> {
  const folder = takeFolder(ctx, options);
  ctx.out.check(pulledView, 'item');
  checkWord(conversations, word);
  const retriever = await ctx.retriever();
  if (folder !== null) retriever.checkFolder(folder);
  const checkout = folder === null ? await requiredCheckout(ctx) : null;
  if (checkout !== null && options.branch !== undefined) await retriever.checkBranch(checkout.root, options.branch);
  const server = await ctx.server();
  const conversation = await findStarted(ctx, server, word);
  if (checkout !== null) await warnOfOtherRepository(ctx, checkout, conversation);
  const diff = await readChanges(ctx, server, conversation, {
    resume: options.resume,
    command: `acs conv pull ${conversation.id}`,
    against: folder === null ? 'start' : 'nothing',
  });
  await reportOmissions(ctx, diff);
  const work = { ctx, server, retriever, conversation, diff, options };
  const pulled = checkout === null ? await intoFolder(work, folder ?? '') : await intoCheckout(work, checkout);
  const isDryRun = ctx.globals.mode === 'dry-run';
  if (isDryRun) await ctx.notice('dry run: nothing was written');
  await ctx.out.item(pulledView, pulled, { changed: !isDryRun && pulled.files.length > 0 });
  if (pulled.conflicts.length === 0) return;
  throw new AppError('conflict', `conflicts are marked in ${pulled.conflicts.join(', ')}`, {
    hint: 'resolve them, then: git add <file>',
    data: { conflicts: pulled.conflicts },
  });
}

/** --output names the folder here; the result goes to stdout. Null without one. */
function takeFolder(ctx: Context, options: PullOptions): string | null {
  const { output, ...globals } = ctx.globals;
  if (output === undefined) return null;
  if (output === '' || output === '-') throw new AppError('usage', '-o needs the name of a folder');
  if (options.branch !== undefined || options['3way']) {
    throw new AppError(
      'usage',
      `-o writes a folder; it cannot be combined with ${options.branch === undefined ? '--3way' : '--branch'}`,
    );
  }
  ctx.globals = globals;
  return path.resolve(ctx.cwd, output);
}

async function requiredCheckout(ctx: Context): Promise<Checkout> {
  const checkout = await ctx.checkout();
  if (checkout !== null) return checkout;
  throw new AppError('usage', 'the current folder is not in a git checkout', {
    hint: 'change to the checkout, or write the changed files into a folder: -o <dir>',
  });
}

/** The same file names may be in both repositories, and a patch may apply by chance. */
async function warnOfOtherRepository(ctx: Context, { origin }: Checkout, { repository }: Conversation): Promise<void> {
  if (repository === null) return ctx.warn('the conversation has no repository; its files go into this checkout');
  const here = origin?.repository ?? null;
  if (here === null) return;
  const choice = await ctx.readRepository(repository).catch(() => null);
  const retrieved = choice === null || choice.kind === 'path' ? null : choice.repository;
  if (retrieved === null || retrieved.toLowerCase() === here.toLowerCase()) return;
  await ctx.warn(`the conversation is on the repository ${retrieved}; origin of this checkout is ${here}`);
}

interface Work {
  ctx: Context;
  server: Server;
  retriever: Retriever;
  conversation: Conversation;
  diff: WorkspaceDiff;
  options: PullOptions;
}

async function intoFolder({ ctx, retriever, conversation, diff }: Work, folder: string): Promise<Pulled> {
  const { patch } = diff;
  const retrieved = await retriever.intoFolder({ folder, patch, dryRun: ctx.globals.mode === 'dry-run' });
  await reportSubmodules(ctx, retrieved);
  return record(conversation, diff, retrieved, { into: 'folder', path: folder });
}

async function intoCheckout(work: Work, { root }: Checkout): Promise<Pulled> {
  const { ctx, server, retriever, conversation, diff, options } = work;
  const asked = {
    root,
    patch: diff.patch,
    threeWay: options['3way'] === true,
    dryRun: ctx.globals.mode === 'dry-run',
  };
  const { branch } = options;
  if (branch !== undefined) {
    const message = ctx.redact(await commitMessage(server, conversation));
    const made = await retriever.ontoBranch({ ...asked, branch, base: diff.base, message });
    return record(conversation, diff, made, { into: 'branch', path: root, branch, commit: made.commit });
  }
  const onUndone = () => ctx.warn('an earlier pull was ended in the middle; its changes have been undone');
  const retrieved = await retriever.intoCheckout({ ...asked, onUndone });
  await reportSubmodules(ctx, retrieved);
  return record(conversation, diff, retrieved, { into: 'checkout', path: root });
}

/** The agent's answer, else the title. */
async function commitMessage(server: Server, { id, title }: Conversation): Promise<string> {
  const answer = (await server.conversations.result(id))?.trim() ?? '';
  const text = answer === '' ? (title ?? '').trim() : answer;
  return `${text === '' ? `Changes of conversation ${id}` : text}\n`;
}

async function reportSubmodules(ctx: Context, { submodules }: Retrieved): Promise<void> {
  for (const name of submodules) await ctx.warn(`left out: ${name}: a submodule, of which only the commit changed`);
}

function record(
  conversation: Conversation,
  diff: WorkspaceDiff,
  { files, conflicts }: Retrieved,
  place: Pick<Pulled, 'into' | 'path'> & Partial<Pick<Pulled, 'branch' | 'commit'>>,
): Pulled {
  return {
    conversation_id: conversation.id,
    branch: null,
    commit: null,
    ...place,
    base: diff.base,
    files,
    ...lineTotals(changedFiles(diff)),
    conflicts,
  };
}
