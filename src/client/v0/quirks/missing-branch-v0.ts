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
import { isRecord } from '../../../protocol/shape.ts';
import type { ConversationInfo } from '../../../protocol/v0/records.ts';
import { normalId } from '../../../domain/ids.ts';
import type { Query } from '../../http/address.ts';
import { errorBy, reasonOf, type Answer } from '../../http/answer.ts';
import type { Links } from '../../shared/links.ts';
import { repositoryName } from '../../v1/quirks/repository-folder.ts';
import { ignoredBranch, notCloned } from '../../shared/start-errors.ts';
import { runtimeOf } from '../calls.ts';

/** `lost`: the clone has lost its `.git`. Throws `not-found` for a missing repository or branch. */
export async function checkRepositoryArrivedV0(
  links: Links,
  info: ConversationInfo,
  repository: string,
  branch: string | null,
): Promise<'arrived' | 'lost'> {
  if (info.local_base_commit !== null) return 'arrived';
  const id = normalId(info.conversation_id);
  const name = repositoryName(repository);
  // The local service clones into the working directory itself.
  for (const git of [`${name}/.git`, '.git']) {
    const head = await fileV0(links, info, `${git}/HEAD`);
    if (head === null) continue;
    const checkedOut = /^ref: refs\/heads\/(.+)$/.exec(head.trim())?.[1] ?? null;
    if (branch === null || checkedOut === branch) return 'arrived';
    const found = await branchIn(links, info, git, branch);
    if (found === 'missing') throw notCloned(`the branch ${branch} of ${repository}`, id);
    // A tag or a commit leaves HEAD detached.
    if (found === 'local' || checkedOut === null) return 'arrived';
    throw ignoredBranch(branch, checkedOut, id);
  }
  const { body } = await readV0(links, info, 'list-files', { path: name });
  if (Array.isArray(body) && body.length > 0) return 'lost';
  throw notCloned(`the repository ${repository}`, id);
}

/** `local`: it was checked out, and the agent may have left it for one of its own. */
async function branchIn(
  links: Links,
  info: ConversationInfo,
  git: string,
  branch: string,
): Promise<'local' | 'elsewhere' | 'missing'> {
  if ((await fileV0(links, info, `${git}/refs/heads/${branch}`)) !== null) return 'local';
  const packed = ((await fileV0(links, info, `${git}/packed-refs`)) ?? '').split('\n');
  const isPacked = (ref: string) => packed.some((line) => line.endsWith(` refs/${ref}`));
  if (isPacked(`heads/${branch}`)) return 'local';
  const isElsewhere = isPacked(`remotes/origin/${branch}`) || isPacked(`tags/${branch}`);
  return isElsewhere ? 'elsewhere' : 'missing';
}

function readV0(
  links: Links,
  info: ConversationInfo,
  route: string,
  query: Query,
): Promise<Answer> {
  const { transport, path } = runtimeOf(links, info);
  return transport.request({
    path: `${path}/${route}`,
    query,
    accept: [404, 500],
  });
}

/** Null for a missing file of the workspace, which is 500 or 404. */
async function fileV0(links: Links, info: ConversationInfo, file: string): Promise<string | null> {
  const answer = await readV0(links, info, 'select-file', { file });
  const { status, body } = answer;
  if (status === 200 && isRecord(body) && typeof body['code'] === 'string') return body['code'];
  const reason = reasonOf(answer);
  if (/^error opening file:[^]*file not found/i.test(reason)) return null;
  throw errorBy(answer, 'server', `the workspace cannot be read: ${reason}`);
}
