import type { Command } from 'commander';
import path from 'node:path';
import type { Checkout } from '../../local/checkout/index.ts';
import type { Retriever } from '../../local/checkout/pull.ts';
import type { Context } from '../context.ts';
import { safeLine } from '../../base/text/safe-text.ts';
import { changedFiles, lineTotals, type FileLines } from '../../domain/patch.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../base/errors.ts';
import type { LinePart, View } from '../../output/view.ts';
import { shortId } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { openConversation } from './find-conversation.ts';
import { readChanges, reportOmissions } from './diff.ts';
import { fileLines } from './end-of-run.ts';
import { printPullRequest, subjectOf } from './pull-request.ts';

interface PullOptions {
  '3way'?: boolean;
  branch?: string;
  push?: boolean;
  resume?: boolean;
}

interface Pulled {
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
  pushed: boolean;
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
    { name: 'pushed', weight: 0 },
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
    .option('--push', 'push the new branch to origin (with --branch)')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    output: 'target',
    notes: [
      'Without flags the changes become uncommitted changes of the git checkout in the ' +
        'current folder. All or nothing: when a file with changes of yours would be touched ' +
        '(unless the run began with them), or the changes do not apply, nothing is written.',
      '--branch commits on the commit that the run started from, or on HEAD where the ' +
        'checkout does not have it. A checkout that does not have this commit and is of ' +
        'another repository is refused. -o <dir> writes the added and changed files into a ' +
        'new folder.',
      'Where gh, glab or tea is installed and origin is on a host that it serves, the commands ' +
        'that open a pull request are printed after a pull onto a branch or into a clean ' +
        'checkout. acs opens none itself. --push runs no hook; when it fails, the branch stays ' +
        'in the checkout, and the exit code is 1.',
    ],
    json: ({ objectForm }) => [objectForm(pulledView, 'changed')],
    exits: ['failed', 'not-found', 'conflict'],
    examples: {
      'acs conv pull @last': 'apply the changes of the last conversation to this checkout',
      'acs conv pull @last --branch agent/login-tests': 'commit them on a new branch',
      'acs conv pull @last --branch agent/login-tests --push': 'push this branch too',
      'acs conv pull @last -o ./result': 'write the changed files into a new folder',
    },
  });
  command.action((id: string, options: PullOptions) => pull(id, options, ctx));
}

type Target =
  | { into: 'checkout'; path: string; checkout: Checkout }
  | { into: 'branch'; path: string; checkout: Checkout; branch: string }
  | { into: 'folder'; path: string };

async function pull(word: string, options: PullOptions, ctx: Context): Promise<void> {
  const { '3way': threeWay = false, branch = null, push = false, resume } = options;
  const retriever = await ctx.git.retriever();
  const target = await targetOf(ctx, retriever, options);
  const { server, conversation } = await openConversation(ctx, word);
  const { id } = conversation;
  const diff = await readChanges(ctx, server, conversation, {
    resume,
    against: target.into === 'folder' ? 'nothing' : 'start',
  });
  const { base, patch } = diff;
  if (target.into !== 'folder')
    await refuseOtherRepository(ctx, retriever, target.checkout, conversation, base);
  await reportOmissions(ctx, diff);

  const dryRun = ctx.globals.mode === 'dry-run';
  const retrieval = { patch, threeWay, dryRun };
  const retrieve = async () => {
    if (target.into === 'folder') return await retriever.intoFolder(target.path, retrieval);
    if (target.into === 'checkout') return await retriever.intoCheckout(target.path, retrieval);
    const answer = (await server.conversations.result(id))?.text.trim();
    const message = answer || subjectOf(conversation);
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
  const changed = !dryRun && files.length > 0;
  const failure =
    changed && push && target.into === 'branch'
      ? await pushBranch(ctx, retriever, target)
      : undefined;
  const counts = changedFiles(diff);
  const pulled: Pulled = {
    conversation_id: id,
    into: target.into,
    path: target.path,
    branch,
    commit,
    base,
    files,
    ...lineTotals(counts),
    conflicts,
    pushed: failure === null,
  };
  if (ctx.out.isPlain) await ctx.out.text(linesOf(pulled, changed ? counts : []));
  else await ctx.out.item(pulledView, pulled, { changed });
  checkComplete(pulled, failure);
  if (!changed || target.into === 'folder') return;
  const made = { branch: pulled.branch, isPushed: pulled.pushed };
  await printPullRequest(ctx, target.checkout, conversation, made);
}

function checkComplete(
  { conflicts, branch, commit }: Pulled,
  failure: string | null | undefined,
): void {
  if (conflicts.length > 0)
    throw new AppError('conflict', `conflicts are marked in ${conflicts.join(', ')}`, {
      hint: 'resolve them, then: git add <file>',
      data: { conflicts },
    });
  if (failure)
    throw new AppError('failed', `the branch ${branch} was not pushed: ${failure}`, {
      hint: `the changes are committed on it; push it: git push -u origin ${branch}`,
      data: { branch, commit },
    });
}

/** What a terminal shows: where the changes went, and the files; nothing without a change. */
function linesOf(
  { conversation_id, into, path: place, branch, pushed }: Pulled,
  files: readonly FileLines[],
): LinePart[][] {
  if (files.length === 0) return [];
  const target = into === 'branch' ? `onto branch ${branch}` : `into ${place}`;
  const text = `pulled ${shortId(conversation_id)} ${target}${pushed ? ', pushed to origin' : ''}`;
  return [[{ text: safeLine(text) }], ...fileLines(files)];
}

/** Why it was not pushed; null when it was. */
async function pushBranch(
  ctx: Context,
  retriever: Retriever,
  { path: root, branch }: { path: string; branch: string },
): Promise<string | null> {
  const progress = await ctx.terminal.progress(`pushing ${branch} to origin`, 'nothing');
  try {
    return await retriever.push(root, branch);
  } finally {
    await progress.done();
  }
}

async function targetOf(
  ctx: Context,
  retriever: Retriever,
  { branch, push, '3way': threeWay }: PullOptions,
): Promise<Target> {
  if (push && branch === undefined)
    throw new AppError('usage', '--push needs --branch', {
      hint: 'name the branch that is made and pushed: --branch <name>',
    });
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
  if (push && checkout.origin === null)
    throw new AppError('conflict', 'this checkout has no remote "origin" to push to', {
      hint: 'nothing was changed; add it: git remote add origin <url>',
    });
  return { into: 'branch', path: root, checkout, branch };
}

type Source = Partial<Pick<Checkout, 'root'>> & {
  head: string | null;
  origin: { repository: string | null } | null;
};

/** Where a conversation took its repository from; nothing is known of a folder without git. */
async function sourceOf(ctx: Context, repository: string): Promise<Source> {
  const choice = await ctx.git.readRepository(repository).catch(() => null);
  if (choice?.kind !== 'path') return { head: null, origin: choice };
  return (await ctx.git.checkout(choice.path)) ?? { head: null, origin: null };
}

/** By the names at their hosts, or the folder: both work there, or one is a clone of it. */
function compareRepositories(
  { root, origin }: Checkout,
  source: Source,
): 'same' | 'other' | 'unknown' {
  const own = origin?.repository?.toLowerCase();
  const there = source.origin?.repository?.toLowerCase();
  if (source.root !== undefined && [root, origin?.url].includes(source.root)) return 'same';
  if (own === undefined || there === undefined) return 'unknown';
  return own === there ? 'same' : 'other';
}

/** A checkout is of the repository when it has the start commit, or the name where it lacks it. */
async function refuseOtherRepository(
  ctx: Context,
  retriever: Retriever,
  checkout: Checkout,
  { repository }: Conversation,
  base: string | null,
): Promise<void> {
  const { root, origin } = checkout;
  if (await retriever.hasCommit(root, base)) return;
  if (repository === null)
    return ctx.warn('the conversation has no repository; its files go into this checkout');
  const source = await sourceOf(ctx, repository);
  const commit = base ?? source.head;
  if (await retriever.hasCommit(root, commit)) return;
  const accepted = { same: true, other: false, unknown: commit === null };
  if (accepted[compareRepositories(checkout, source)]) return;
  const name = source.origin?.repository ?? repository;
  const here = origin?.repository ?? origin?.url ?? root;
  const lacks =
    commit === null ? '' : `, at commit ${commit.slice(0, 12)}, which this checkout does not have`;
  throw new AppError(
    'conflict',
    `the conversation is on the repository ${name}${lacks}; this checkout is of ${here}`,
    {
      hint: `change to a checkout of ${name}, or write the changed files into a folder: -o <dir>`,
    },
  );
}
