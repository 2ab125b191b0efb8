import { existsSync } from 'node:fs';
import path from 'node:path';
import { safeLine } from '../../base/text/safe-text.ts';
import { shellQuote, shellWord } from '../../base/text/shell-quote.ts';
import { cut } from '../../base/text/well-formed.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { Checkout } from '../../local/checkout/index.ts';
import type { Context } from '../context.ts';
import { shortId } from '../shared/bulk.ts';

const LONGEST_SUBJECT = 72;

/** `flags`: of the branch, and of the one that it is merged into. */
const CREATE = [
  {
    host: /(?:^|\.)github\.|\.ghe\.com$/,
    program: 'gh',
    command: 'gh pr create --fill',
    flags: ['--head', '--base'],
  },
  {
    host: /(?:^|\.)gitlab\./,
    program: 'glab',
    // With --fill it would push HEAD to the branch.
    command: 'glab mr create',
    flags: ['--source-branch', '--target-branch'],
  },
  {
    host: /(?:^|\.)(?:gitea|forgejo|codeberg)\./,
    program: 'tea',
    command: 'tea pulls create',
    flags: ['--head', '--base'],
  },
];

/**
 * Prints the commands that open a pull request where a program that does it is installed, unless
 * the changes are uncommitted beside others. `branch`: the one that was made; null: uncommitted.
 */
export async function printPullRequest(
  ctx: Context,
  { origin, branch: current, dirty }: Checkout,
  conversation: Conversation,
  made: { branch: string | null; isPushed: boolean },
): Promise<void> {
  if (made.branch === null && dirty) return;
  const base = conversation.branch;
  const create = CREATE.find(
    ({ host, program }) => host.test(origin?.host ?? '') && isInstalled(ctx, program),
  );
  if (create === undefined) return;
  const commands: string[] = [];
  let { branch } = made;
  if (branch === null) {
    const isOwn = current !== null && base !== null && current !== base;
    branch = isOwn ? current : `acs/${shortId(conversation.id)}`;
    if (!isOwn) commands.push(`git switch -c ${branch}`);
    const subject = cut(safeLine(subjectOf(conversation)), LONGEST_SUBJECT);
    commands.push('git add -A', `git commit -m ${shellQuote(subject)}`);
  }
  if (!made.isPushed) commands.push(`git push -u origin ${shellWord(branch)}`);
  const [head = '', onto = ''] = create.flags;
  const merge = base === null ? '' : ` ${onto} ${shellWord(base)}`;
  commands.push(`${create.command} ${head} ${shellWord(branch)}${merge}`);
  await ctx.notice(['open a pull request:', ...commands].join('\n'));
}

/** For a commit of the changes. */
export function subjectOf({ id, title }: Conversation): string {
  return title?.trim() || `Changes of conversation ${id}`;
}

function isInstalled({ local: { env } }: Context, program: string): boolean {
  const folders = (env.PATH ?? '').split(path.delimiter);
  const files = folders.map((folder) => path.join(folder, program));
  return files.some((file) => existsSync(file) || existsSync(`${file}.exe`));
}
