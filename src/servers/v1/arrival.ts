/** Whether the repository that was asked for is in the workspace: READY is no proof (interface 4.2). */
import { AppError, isAppError } from '../../errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { Links } from '../links.ts';
import { shellQuote } from '../shell.ts';
import { agentOf } from './agent.ts';

/** Throws `not-found` when it can be seen that repository or branch did not arrive; says nothing where nobody tells. */
export async function checkRepositoryArrived(
  links: Links,
  record: AppConversationRecord,
  request: Pick<NewConversation, 'repository' | 'branch'>,
): Promise<void> {
  if (request.repository === null) return;
  const seen = await lookIntoWorkspace(links, record, request.branch);
  if (seen === 'arrived' || seen === 'unknown') return;
  const what =
    seen === 'no-branch'
      ? `the branch ${request.branch} of ${request.repository}`
      : `the repository ${request.repository}`;
  throw new AppError(
    'not-found',
    `${what} did not arrive in the workspace, though the server calls the conversation started`,
    {
      hint: `check the name${request.branch === null ? '' : ', the branch'} and whether the server may read it; the conversation is ${record.id}`,
      data: { conversation_id: record.id },
    },
  );
}

async function lookIntoWorkspace(
  links: Links,
  record: AppConversationRecord,
  branch: string | null,
): Promise<'arrived' | 'no-repository' | 'no-branch' | 'unknown'> {
  const agent = agentOf(links, record);
  if (agent === null) return 'unknown';
  try {
    const { working_dir } = await agent.conversation();
    if (working_dir === null) return 'unknown';
    // Exit 41: no repository; 42: it is there without the branch. Any commit counts, the agent may have moved on.
    const branchTest = branch === null ? 'exit 0' : `${branchCheck(branch)} && exit 0; exit 42`;
    const command = `git rev-parse --git-dir >/dev/null 2>&1 && git remote | grep -q . || exit 41; ${branchTest}`;
    const { exitCode } = await agent.inspect(command, working_dir, 20);
    if (exitCode === 41) return 'no-repository';
    if (exitCode === 42) return 'no-branch';
    return exitCode === 0 ? 'arrived' : 'unknown';
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return 'unknown';
  }
}

function branchCheck(branch: string): string {
  const names = [`refs/heads/${branch}`, `refs/remotes/origin/${branch}`, `refs/tags/${branch}`];
  const tests = names.map((name) => `git rev-parse -q --verify ${shellQuote(name)} >/dev/null 2>&1`);
  return `{ ${tests.join(' || ')}; }`;
}
