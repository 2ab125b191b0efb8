/** Whether the branch that was asked for is in the workspace: a V0 server that cannot find it stays at the default one. */
import { AppError } from '../../errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import type { Links } from '../links.ts';
import { runtimeOf, V0_TIMEOUT_MS } from './calls.ts';

/** Throws `not-found` when it can be seen that the branch did not arrive; says nothing where nobody tells. */
export async function checkBranchArrivedV0(
  links: Links,
  info: ConversationInfo,
  { repository, branch }: Pick<NewConversation, 'repository' | 'branch'>,
): Promise<void> {
  if (repository === null || branch === null) return;
  const folder =
    repository
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
      .split('/')
      .at(-1) ?? '';
  const head = await fileV0(links, info, `${folder}/.git/HEAD`);
  if (head === null || head.trim() === `ref: refs/heads/${branch}`) return;
  // The agent may have gone to a branch of its own by now.
  if ((await fileV0(links, info, `${folder}/.git/refs/heads/${branch}`)) !== null) return;
  const packed = (await fileV0(links, info, `${folder}/.git/packed-refs`)) ?? '';
  const names = [`refs/heads/${branch}`, `refs/remotes/origin/${branch}`, `refs/tags/${branch}`];
  if (packed.split('\n').some((line) => names.includes(line.slice(line.indexOf(' ') + 1)))) return;
  throw new AppError(
    'not-found',
    `the branch ${branch} of ${repository} did not arrive in the workspace, though the server calls the conversation started`,
    {
      hint: `check the name and whether the server may read it; the conversation is ${info.conversation_id}`,
      data: { conversation_id: info.conversation_id },
    },
  );
}

/** The text of a file of the workspace; null when it is not there or cannot be read (interface 3.4: 500, 404 or 415). */
async function fileV0(links: Links, info: ConversationInfo, file: string): Promise<string | null> {
  const { transport, path } = runtimeOf(links, info);
  const { status, body } = await transport.request({
    method: 'GET',
    path: `${path}/select-file`,
    query: { file },
    safe: 'read',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [400, 404, 415, 500],
  });
  return status === 200 && isRecord(body) && typeof body['code'] === 'string' ? body['code'] : null;
}
