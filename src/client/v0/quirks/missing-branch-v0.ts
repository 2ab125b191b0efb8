/**
 * Reads from the workspace whether the repository and the branch of a V0 start were cloned.
 *
 * Servers:  openhands-ai 1.4.0 and 1.6.0 over V0
 * Symptom:  `conv new --branch` with an unknown branch exits 0 and the agent works on the default
 *           branch; after a failed clone it works in an empty workspace, and `conv diff` and `conv
 *           pull` find no changes.
 * Evidence: test/contract/cases/repositories.ts, an unknown branch; rate unknown
 * Cost:     1 or 2 requests for each start with a repository, and for each diff without changes; 2
 *           more where HEAD is not at its branch; 1 more where there is no .git
 * Remove:   when servers with V0 are no longer supported
 */
import { AppError } from '../../../base/errors.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { ConversationInfo } from '../../../protocol/v0/records.ts';
import { normalId } from '../../../domain/ids.ts';
import type { Query } from '../../http/address.ts';
import { reasonOf, type Answer } from '../../http/answer.ts';
import type { Links } from '../../shared/links.ts';
import { repositoryName } from '../../v1/quirks/repository-folder.ts';
import { ignoredBranch, notCloned } from '../../shared/start-errors.ts';
import { runtimeOf } from '../calls.ts';

/**
 * `lost`: the folder of the clone is there without its `.git`. Throws `not-found` when repository
 * or branch did not arrive, `server` when another branch is checked out.
 */
export async function checkRepositoryArrivedV0(
  links: Links,
  info: ConversationInfo,
  repository: string,
  branch: string | null,
): Promise<'arrived' | 'lost'> {
  if (info.local_base_commit !== null) return 'arrived';
  const id = normalId(info.conversation_id);
  // The local service clones into the working directory itself.
  let git = `${repositoryName(repository)}/.git`;
  let head = await fileV0(links, info, `${git}/HEAD`);
  if (head === null) {
    git = '.git';
    head = await fileV0(links, info, `${git}/HEAD`);
  }
  if (head === null) {
    const { body } = await readV0(links, info, 'list-files', { path: repositoryName(repository) });
    if (Array.isArray(body) && body.length > 0) return 'lost';
    throw notCloned(`the repository ${repository}`, id);
  }
  const checkedOut = /^ref: refs\/heads\/(.+)$/.exec(head.trim())?.[1] ?? null;
  if (branch === null || checkedOut === branch) return 'arrived';
  // A local branch exists only once it was checked out; the agent may have gone to one of its own
  // since.
  if ((await fileV0(links, info, `${git}/refs/heads/${branch}`)) !== null) return 'arrived';
  const packed = ((await fileV0(links, info, `${git}/packed-refs`)) ?? '').split('\n');
  const isPacked = (name: string): boolean =>
    packed.some((line) => line.slice(line.indexOf(' ') + 1) === name);
  if (isPacked(`refs/heads/${branch}`)) return 'arrived';
  const isElsewhere = isPacked(`refs/remotes/origin/${branch}`) || isPacked(`refs/tags/${branch}`);
  if (!isElsewhere) throw notCloned(`the branch ${branch} of ${repository}`, id);
  if (checkedOut === null) return 'arrived'; // a tag or a commit leaves HEAD detached
  throw ignoredBranch(branch, checkedOut, id);
}

function readV0(
  links: Links,
  info: ConversationInfo,
  route: string,
  query: Query,
): Promise<Answer> {
  const { transport, path } = runtimeOf(links, info);
  return transport.request({
    method: 'GET',
    path: `${path}/${route}`,
    query,
    safe: 'read',
    accept: [404, 500],
  });
}

/**
 * The text of a file of the workspace, null when it is not there: that is 500, or 404 with the same
 * text.
 */
async function fileV0(links: Links, info: ConversationInfo, file: string): Promise<string | null> {
  const answer = await readV0(links, info, 'select-file', { file });
  const { status, body, request } = answer;
  if (status === 200 && isRecord(body) && typeof body['code'] === 'string') return body['code'];
  const reason = reasonOf(answer);
  if (/^error opening file:[^]*file not found/i.test(reason)) return null;
  throw new AppError('server', `the workspace cannot be read: ${reason}`, { status, request });
}
