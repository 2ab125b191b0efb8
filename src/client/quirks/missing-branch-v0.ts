/**
 * Reads from the workspace whether the branch of a V0 start was checked out.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  `conv new --branch` with an unknown branch exits 0 and the agent works on the default branch.
 * Evidence: test/contract/cases/repositories.ts, an unknown branch; rate unknown
 * Cost:     1 request for each start with a branch, up to 3 where HEAD is elsewhere
 * Remove:   when servers with V0 are no longer supported
 */
import type { NewConversation } from '../../domain/new-conversation.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../links.ts';
import { repositoryName } from './repository-folder.ts';
import { ignoredBranch, notCloned } from '../start-errors.ts';
import { runtimeOf } from '../v0/calls.ts';

/** Throws `not-found` when the branch did not arrive, `server` when another one is checked out. */
export async function checkBranchArrivedV0(
  links: Links,
  info: ConversationInfo,
  { repository, branch }: Pick<NewConversation, 'repository' | 'branch'>,
): Promise<void> {
  if (repository === null || branch === null) return;
  const git = `${repositoryName(repository)}/.git`;
  const id = normalId(info.conversation_id);
  const head = (await fileV0(links, info, `${git}/HEAD`))?.trim() ?? null;
  if (head === null) {
    if (info.selected_branch !== null && info.selected_branch !== branch)
      throw ignoredBranch(branch, info.selected_branch, id);
    return;
  }
  const checkedOut = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? null;
  if (checkedOut === branch) return;
  // A local branch exists only once it was checked out; the agent may have gone to one of its own since.
  if ((await fileV0(links, info, `${git}/refs/heads/${branch}`)) !== null) return;
  const packed = ((await fileV0(links, info, `${git}/packed-refs`)) ?? '').split('\n');
  const isPacked = (name: string): boolean => packed.some((line) => line.slice(line.indexOf(' ') + 1) === name);
  if (isPacked(`refs/heads/${branch}`)) return;
  const isElsewhere = isPacked(`refs/remotes/origin/${branch}`) || isPacked(`refs/tags/${branch}`);
  if (isElsewhere && checkedOut === null) return; // a tag or a commit leaves HEAD detached
  if (isElsewhere && checkedOut !== null) throw ignoredBranch(branch, checkedOut, id);
  throw notCloned(`the branch ${branch} of ${repository}`, info.conversation_id);
}

/** The text of a file of the workspace; null when it is not there or cannot be read (interface 3.4: 500, 404 or 415). */
async function fileV0(links: Links, info: ConversationInfo, file: string): Promise<string | null> {
  const { transport, path } = runtimeOf(links, info);
  const { status, body } = await transport.request({
    method: 'GET',
    path: `${path}/select-file`,
    query: { file },
    safe: 'read',
    accept: [400, 404, 415, 500],
  });
  return status === 200 && isRecord(body) && typeof body['code'] === 'string' ? body['code'] : null;
}
