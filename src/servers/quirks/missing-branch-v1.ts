/**
 * Reads from the workspace whether the repository and the branch of a start were cloned.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv new --branch` with an unknown branch exits 0: the start task ends READY with nothing cloned, or with
 *           another branch.
 * Evidence: recordings exchanges-1.6.0.jsonl and exchanges-1.11.0.jsonl, clone.unknown-branch;
 *           test/servers/quirks/missing-branch-v1.test.ts
 * Cost:     2 requests at the sandbox for each start with a repository
 * Remove:   unknown
 */
import { AppError, isAppError } from '../../errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { ignoredBranch } from '../start-differs.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { agentOf } from '../v1/agent.ts';
import { enterRepository } from './repository-folder.ts';

type Seen =
  { state: 'arrived' | 'no-repository' | 'no-branch' | 'unknown' } | { state: 'other-branch'; branch: string };

/**
 * Throws `not-found` when repository or branch did not arrive, `server` when another branch is checked out. Nothing is
 * concluded where the workspace cannot be read.
 */
export async function checkRepositoryArrived(
  links: Links,
  record: AppConversationRecord,
  { repository, branch }: Pick<NewConversation, 'repository' | 'branch'>,
): Promise<void> {
  if (repository === null) return;
  const seen = await lookIntoWorkspace(links, record, repository, branch);
  const id = normalId(record.id);
  if (seen.state === 'other-branch') throw ignoredBranch(branch ?? '', seen.branch, id);
  if (seen.state === 'unknown') {
    const recorded = record.selected_branch;
    if (branch !== null && recorded !== null && recorded !== branch) throw ignoredBranch(branch, recorded, id);
    return;
  }
  if (seen.state === 'arrived') return;
  const what = seen.state === 'no-branch' ? `the branch ${branch} of ${repository}` : `the repository ${repository}`;
  throw new AppError(
    'not-found',
    `${what} did not arrive in the workspace, though the server calls the conversation started`,
    {
      hint: `check the name${branch === null ? '' : ', the branch'} and whether the server may read it; the conversation is ${record.id}`,
      data: { conversation_id: record.id },
    },
  );
}

async function lookIntoWorkspace(
  links: Links,
  record: AppConversationRecord,
  repository: string,
  branch: string | null,
): Promise<Seen> {
  const agent = agentOf(links, record);
  if (agent === null) return { state: 'unknown' };
  try {
    const { working_dir } = await agent.conversation();
    if (working_dir === null) return { state: 'unknown' };
    // Exit 41: no repository; 42: it is there without the branch; 43: the branch is there and was never checked out.
    const command = `${enterRepository(repository)}
is_top . && git remote | grep -q . || exit 41
${branch === null ? 'exit 0' : branchCheck(branch)}`;
    const { exitCode, stdout } = await agent.inspect(command, working_dir, 20);
    if (exitCode === 41) return { state: 'no-repository' };
    if (exitCode === 42) return { state: 'no-branch' };
    if (exitCode === 43) return { state: 'other-branch', branch: stdout.trim().slice(0, 200) };
    return { state: exitCode === 0 ? 'arrived' : 'unknown' };
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return { state: 'unknown' };
  }
}

/**
 * A local branch exists only once it was checked out; the agent may have moved on since. A tag or a commit leaves HEAD
 * detached: then the log of HEAD has its commit.
 */
function branchCheck(branch: string): string {
  const local = shellQuote(`refs/heads/${branch}`);
  const others = [`refs/tags/${branch}`, `refs/remotes/origin/${branch}`].map((name) => shellQuote(`${name}^{commit}`));
  return `git rev-parse -q --verify ${local} >/dev/null && exit 0
commit=$(git rev-parse -q --verify ${others.join(' || git rev-parse -q --verify ')}) || exit 42
git symbolic-ref -q HEAD >/dev/null || { git log -g --format=%H HEAD | grep -qx "$commit" && exit 0; }
git symbolic-ref -q --short HEAD || git rev-parse HEAD
exit 43`;
}
