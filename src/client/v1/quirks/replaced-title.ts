/**
 * Renames a V1 conversation: over the route of V0 where that of V1 does not change the title, and
 * in the sandbox too while the server may still copy a title from there. `conv new --title` and
 * `conv rename` compare the title at their end, and print a notice where the title that the server
 * generates may still come.
 *
 * Servers:  openhands-ai 0.62.0 to 1.4.0 (replace it up to 30 s after the start), 1.4.0 (422: the
 *           body must have `public`), 1.6.0 (200 with the title as it was), 1.11.0 (overwrites it
 *           with the one of the sandbox); 1.6.0 over V0 (each event of a run writes the record back
 *           as it was read before)
 * Symptom:  `conv rename` and `conv new --title` exit 0, and the conversation has another title.
 * Evidence: interface 4.4 and 13 "Records written twice"; rate unknown;
 *           test/client/quirks/replaced-title.test.ts
 * Cost:     1 read before; 1 request to the sandbox while the conversation has no generated title;
 *           1 request for each command where the route of V1 ignores the title, unless the document
 *           of the server shows that
 * Remove:   unknown
 */
import { isFailure } from '../../../base/errors.ts';
import { isUntitled, type Conversation } from '../../../domain/conversation.ts';
import { readAppConversation, type AppConversationRecord } from '../../../protocol/v1/records.ts';
import { changeOverV0, changeOverV1 } from '../../shared/change-routes.ts';
import { noConversation } from '../../../domain/ids.ts';
import { readThroughOutage } from '../../../runs/poll.ts';
import { read, type Links } from '../../shared/links.ts';
import { agentOf } from '../agent.ts';
import { getConversation, isThereV1, keyed } from '../calls.ts';
import { toConversation } from '../records.ts';

export async function renameV1(links: Links, id: string, title: string): Promise<Conversation> {
  const { facts } = links;
  const isThere = () => isThereV1(links, id);
  const readRecord = () => readThroughOutage(links, () => getConversation(links, id));
  const before = await readRecord();
  const mayBeIgnored = facts.features.rename !== 'present' && facts.dialects.includes('v0');
  const call = { method: 'PATCH', body: { title }, isThere } as const;
  const accept = mayBeIgnored ? [422] : [];
  const answer = await changeOverV1(links, 'rename', id, { ...call, accept });
  if (answer?.status === 404) throw noConversation(id);
  const isRead = answer !== null && answer.status !== 422;
  const renamed = isRead ? read(answer, keyed(links, readAppConversation)) : null;
  const hasTitle = renamed?.title === title;
  // The same title is returned by a server that changes it and by one that ignores it.
  if (answer !== null && (hasTitle ? before.title !== title : mayBeIgnored))
    await links.learn('rename', hasTitle ? 'present' : 'absent');
  if (renamed === null || (!hasTitle && mayBeIgnored)) {
    await changeOverV0(links, id, call);
    return toConversation(links, await readRecord());
  }
  // Later a change in the sandbox would make the server recreate the record.
  if (isUntitled(before.title)) await renameInSandbox(links, before, title);
  return toConversation(links, renamed);
}

async function renameInSandbox(
  links: Links,
  record: AppConversationRecord,
  title: string,
): Promise<void> {
  await agentOf(links, record)
    ?.rename(title)
    .catch((error: unknown) => {
      if (!isFailure(error)) throw error;
      // The agent server answers after the current step, and the request does not wait for that.
      if (error.kind !== 'network')
        links.notice(`the title may be replaced: its sandbox refuses it (${error.message})`);
    });
}
