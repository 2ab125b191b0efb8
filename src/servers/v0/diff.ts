/** The difference of the workspace of a V0 conversation, from both sides of each changed file (interface 3.4). */
import { AppError } from '../../errors.ts';
import { readGitChanges, readGitDiff } from '../../protocol/agent-server/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import { read, type Links } from '../links.ts';
import { createRepositoryPaths } from '../quirks/workspace-paths-v0.ts';
import type { DiffOptions, WorkspaceDiff } from '../server.ts';
import { diffFromFiles } from '../diff-from-files.ts';
import { statusError } from '../transport/answer.ts';
import { getConversationV0, runtimeOf, V0_TIMEOUT_MS } from './calls.ts';

export async function diffV0(links: Links, id: string, options?: DiffOptions): Promise<WorkspaceDiff> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() !== 'RUNNING') {
    throw new AppError(
      'conflict',
      `this conversation does not run (it is ${info.status.toLowerCase()}), so its workspace cannot be read`,
    );
  }
  const { transport, path } = runtimeOf(links, info);
  const paths = createRepositoryPaths(info.selected_repository);
  const changes = async (): Promise<ReturnType<typeof readGitChanges>> => {
    const answer = await transport.request({
      method: 'GET',
      path: `${path}/git/changes`,
      safe: 'read',
      timeoutMs: V0_TIMEOUT_MS,
      accept: [404],
    });
    if (answer.status < 300)
      return read(answer, (body) => readGitChanges(body)).map((change) => ({
        ...change,
        path: paths.inRepository(change.path),
      }));
    if (isRecord(answer.body) && /not a git repository/i.test(String(answer.body['error']))) return [];
    throw statusError(answer, { request: answer.request });
  };
  const sides = async (file: string): Promise<ReturnType<typeof readGitDiff>> => {
    const answer = await transport.request({
      method: 'GET',
      path: `${path}/git/diff`,
      query: { path: paths.served(file) },
      safe: 'read',
      timeoutMs: V0_TIMEOUT_MS,
      // Of a binary file, which is named as left out.
      accept: [500],
    });
    return answer.status === 500 ? { original: null, modified: null } : read(answer, (body) => readGitDiff(body));
  };
  const diff = await diffFromFiles(changes, sides, options);
  if (diff.changes.length === 0 && info.selected_repository === null)
    diff.omissions.push('what changed in a workspace without a repository: this server does not see it');
  return diff;
}
