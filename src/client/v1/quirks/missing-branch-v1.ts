/**
 * Reads from the workspace whether the repository and the branch of a start were cloned.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv new --branch` with an unknown branch exits 0: the start task ends READY with
 *           nothing cloned, or with another branch.
 * Evidence: recordings exchanges-1.6.0.jsonl and exchanges-1.11.0.jsonl, clone.unknown-branch;
 *           test/client/quirks/repository-folder.test.ts
 * Cost:     2 requests at the sandbox for each start with a repository
 * Remove:   unknown
 */
import { isFailure, nullIf } from '../../../base/errors.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import { normalId } from '../../../domain/ids.ts';
import { readThroughOutage } from '../../../runs/poll.ts';
import type { Links } from '../../shared/links.ts';
import { ignoredBranch, notCloned } from '../../shared/start-errors.ts';
import { shellQuote } from '../../../base/text/shell-quote.ts';
import { agentOf } from '../agent.ts';
import { enterClone } from './repository-folder.ts';
import { cut } from '../../../base/text/well-formed.ts';

export async function checkRepositoryArrived(
  links: Links,
  record: AppConversationRecord,
  { repository, branch }: Pick<NewConversation, 'repository' | 'branch'>,
): Promise<void> {
  if (repository === null) return;
  const id = normalId(record.id);
  const agent = agentOf(links, record);
  const check = `[ -d "$kept" ] && exit 0
is_clone . || no_clone
${branch === null ? 'exit 0' : branchCheck(branch)}`;
  const result = await readThroughOutage(links, async () => {
    const conversation = await agent?.conversation();
    if (agent === null || conversation?.working_dir == null) return null;
    return await agent.inspect(`${enterClone(conversation, repository)}\n${check}`, 20);
  }).catch(nullIf(isFailure));
  const recorded = record.selected_branch;
  switch (result?.exitCode) {
    case 0:
      return;
    case 41:
      throw notCloned(`the repository ${repository}`, id);
    case 42:
      throw notCloned(`the branch ${branch} of ${repository}`, id);
    case 43: // another branch is checked out, and this one never was
      throw ignoredBranch(branch ?? '', cut(result.stdout.trim(), 200), id);
    case 45: // the agent has removed .git
      if (branch === null) return;
      break;
    default: // the workspace cannot be read
  }
  if (branch !== null && recorded !== null && recorded !== branch)
    throw ignoredBranch(branch, recorded, id);
  const see = `see: acs conv diff ${id}`;
  links.notice(`warning: whether ${repository} arrived in the workspace cannot be read; ${see}`);
}

/** A local branch exists only once it was checked out; of a tag the log of HEAD has the commit. */
function branchCheck(branch: string): string {
  const local = shellQuote(`refs/heads/${branch}`);
  const others = [`refs/tags/${branch}`, `refs/remotes/origin/${branch}`].map((name) =>
    shellQuote(`${name}^{commit}`),
  );
  return `git rev-parse -q --verify ${local} >/dev/null && exit 0
commit=$(git rev-parse -q --verify ${others.join(' || git rev-parse -q --verify ')}) || exit 42
git symbolic-ref -q HEAD >/dev/null ||
  { git log -g --format=%H HEAD | grep -qx "$commit" && exit 0; }
git symbolic-ref -q --short HEAD || git rev-parse HEAD
exit 43`;
}
