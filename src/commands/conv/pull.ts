import type { Command } from 'commander';
import path from 'node:path';
import type { Checkout } from '../../local/checkout/index.ts';
import type { Retriever } from '../../local/checkout/pull.ts';
import type { Context } from '../context.ts';
import { changedFiles, lineTotals } from '../../domain/patch.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../base/errors.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { openConversation } from './conversations.ts';
import { readChanges, reportOmissions } from './diff.ts';

interface PullOptions {
  '3way'?: boolean;
  branch?: string;
  resume?: boolean;
}

export interface Pulled {
  conversation_id: string;
  into: 'checkout' | 'branch' | 'folder';
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
    { name: 'conversation_id', as: 'id', weight: 0 },
    { name: 'into', weight: 0 },
    { name: 'path', weight: 3 },
    { name: 'branch', weight: 2 },
    { name: 'commit', as: 'id', weight: 0 },
    { name: 'base', as: 'id', weight: 0 },
    { name: 'files', weight: 1, json: { list: true } },
    { name: 'added', as: 'number', weight: 0 },
    { name: 'removed', as: 'number', weight: 0 },
    { name: 'conflicts', weight: 1, json: { list: true } },
  ],
  table: ['into', 'path', 'branch', 'commit', 'files', 'added', 'removed', 'conflicts'],
  tsv: ['conversation_id', 'into', 'path', 'branch', 'commit', 'base', 'added', 'removed'],
};

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .option('--3way', 'merge with later changes of the checkout; conflicts are marked in the files')
    .option(
      '--branch <name>',
      "commit the changes on a new branch, with the agent's answer as the message",
    )
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    output: 'target',
    notes: [
      'Without flags the changes become uncommitted changes of the git checkout in the ' +
        'current folder. All or nothing: when a file with changes of yours would be touched, ' +
        'or the changes do not apply to HEAD, nothing is written.',
      '--branch commits on the commit that the run started from, or on HEAD where the ' +
        'checkout does not have it. A checkout that does not have this commit and is of ' +
        'another repository is refused. -o <dir> writes the added and changed files into a ' +
        'new folder.',
    ],
    json: ({ objectForm }) => [objectForm(pulledView, 'changed')],
    exits: ['not-found', 'conflict'],
    examples: [
      {
        command: 'acs conv pull @last',
        does: 'apply the changes of the last conversation to this checkout',
      },
      {
        command: 'acs conv pull @last --branch agent/login-tests',
        does: 'commit them on a new branch',
      },
      {
        command: 'acs conv pull @last -o ./result',
        does: 'write the changed files into a new folder',
      },
    ],
  });
  command.action((id: string, options: PullOptions) => pull(id, options, ctx));
}

type Target =
  | { into: 'checkout'; path: string; checkout: Checkout }
  | { into: 'branch'; path: string; checkout: Checkout; branch: string }
  | { into: 'folder'; path: string };

async function pull(word: string, options: PullOptions, ctx: Context): Promise<void> {
  const retriever = await ctx.git.retriever();
  const target = await targetOf(ctx, retriever, options);
  const { server, conversation } = await openConversation(ctx, word);
  const { id, title } = conversation;
  const diff = await readChanges(ctx, server, conversation, {
    resume: options.resume,
    against: target.into === 'folder' ? 'nothing' : 'start',
  });
  const { base, patch } = diff;
  if (target.into !== 'folder')
    await refuseOtherRepository(ctx, retriever, target.checkout, conversation, base);
  await reportOmissions(ctx, diff);

  const dryRun = ctx.globals.mode === 'dry-run';
  const retrieval = { patch, threeWay: options['3way'] ?? false, dryRun };
  const retrieve = async () => {
    if (target.into === 'folder') return await retriever.intoFolder(target.path, retrieval);
    if (target.into === 'checkout') return await retriever.intoCheckout(target.path, retrieval);
    const answer = (await server.conversations.result(id))?.text.trim();
    const message = answer || title?.trim() || `Changes of conversation ${id}`;
    return await retriever.ontoBranch(target.path, {
      ...retrieval,
      branch: target.branch,
      base,
      message: ctx.terminal.redact(`${message}\n`),
    });
  };
  const { files, conflicts, submodules, commit } = await retrieve();
  for (const name of submodules)
    await ctx.warn(`left out: ${name}: a submodule, of which only the commit changed`);
  if (dryRun) await ctx.notice('dry run: nothing was written');
  const pulled: Pulled = {
    conversation_id: id,
    into: target.into,
    path: target.path,
    branch: options.branch ?? null,
    commit,
    base,
    files,
    ...lineTotals(changedFiles(diff)),
    conflicts,
  };
  await ctx.out.item(pulledView, pulled, { changed: !dryRun && files.length > 0 });
  if (conflicts.length === 0) return;
  throw new AppError('conflict', `conflicts are marked in ${conflicts.join(', ')}`, {
    hint: 'resolve them, then: git add <file>',
    data: { conflicts },
  });
}

async function targetOf(
  ctx: Context,
  retriever: Retriever,
  { branch, '3way': threeWay }: PullOptions,
): Promise<Target> {
  // --output names the folder here; the result goes to stdout.
  const { target: output } = ctx.globals;
  if (output === '' || output === '-') throw new AppError('usage', '-o needs the name of a folder');
  if (output !== undefined && (branch !== undefined || threeWay)) {
    const flag = branch === undefined ? '--3way' : '--branch';
    throw new AppError('usage', `-o writes a folder; it cannot be combined with ${flag}`);
  }
  ctx.out.check(pulledView, 'item');
  if (output !== undefined) {
    const folder = path.resolve(ctx.local.cwd, output);
    retriever.checkFolder(folder);
    return { into: 'folder', path: folder };
  }
  const checkout = await ctx.git.checkout();
  if (checkout === null)
    throw new AppError('usage', 'the current folder is not in a git checkout', {
      hint: 'change to the checkout, or write the changed files into a folder: -o <dir>',
    });
  const { root } = checkout;
  if (branch === undefined) return { into: 'checkout', path: root, checkout };
  await retriever.checkBranch(root, branch);
  return { into: 'branch', path: root, checkout, branch };
}

/** A checkout is of the repository when it has the start commit, or the name where it lacks it. */
async function refuseOtherRepository(
  ctx: Context,
  retriever: Retriever,
  { root, origin }: Checkout,
  { repository }: Conversation,
  base: string | null,
): Promise<void> {
  if (repository === null)
    return ctx.warn('the conversation has no repository; its files go into this checkout');
  const choice = await ctx.git.readRepository(repository).catch(() => null);
  const source =
    choice?.kind === 'path'
      ? await ctx.git.checkout(choice.path)
      : { root: undefined, head: null, origin: choice };
  const commit = base ?? source?.head ?? null;
  if (commit !== null && (await retriever.hasCommit(root, commit))) return;
  const there = source?.origin?.repository;
  const ours = [origin?.repository?.toLowerCase(), origin?.url, root];
  const isSame = [there?.toLowerCase(), source?.root].some(
    (name) => name !== undefined && ours.includes(name),
  );
  const isUnknown = commit === null && (origin?.repository == null || there == null);
  if (isSame || isUnknown) return;
  const name = there ?? repository;
  const lacks =
    commit === null ? '' : `, at commit ${commit.slice(0, 12)}, which this checkout does not have`;
  const here = origin?.repository ?? origin?.url ?? root;
  throw new AppError(
    'conflict',
    `the conversation is on the repository ${name}${lacks}; this checkout is of ${here}`,
    {
      hint: `change to a checkout of ${name}, or write the changed files into a folder: -o <dir>`,
    },
  );
}
