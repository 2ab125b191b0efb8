/**
 * Renames a conversation over the route of V1, and compares the title of the answer where V0 has a route that works.
 *
 * Servers:  openhands-ai 1.4.0 (422: the body must have `public`) and 1.6.0 (200 with the title as it was); both serve V0
 * Symptom:  `conv rename` exits 0 and the title stays, or exits 2.
 * Evidence: interface 4.4; test/servers/quirks/ignored-title.test.ts
 * Cost:     0 requests where the title changes; else 1 for each command, unless its document shows that the route takes no title
 * Remove:   when servers with V0 are no longer supported
 */
import { readAppConversation, type AppConversationRecord } from '../../protocol/v1/records.ts';
import { changeOverV1 } from '../change-routes.ts';
import { noConversation } from '../ids.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { isThereV1 } from '../v1/calls.ts';

export interface TitleChange {
  /** The title before. */
  from: string | null;
  to: string;
}

/** The changed record; null where this route does not change the title. Throws `not-found`. */
export async function renameOverV1(
  links: Links,
  facts: ProbeFacts,
  id: string,
  { from, to: title }: TitleChange,
): Promise<AppConversationRecord | null> {
  const mayBeIgnored = facts.features.rename !== 'present' && facts.dialects.includes('v0');
  const answer = await changeOverV1(links, 'rename', id, {
    method: 'PATCH',
    body: { title },
    accept: mayBeIgnored ? [422] : [],
    isThere: () => isThereV1(links, id),
  });
  if (answer === null) return null;
  if (answer.status === 404) throw noConversation(id);
  const record = answer.status === 422 ? null : read(answer, (body) => readAppConversation(body));
  links.network.redaction.add(record?.session_api_key);
  const hasTitle = record?.title === title;
  // The same title is returned by a server that changes it and by one that ignores it.
  if (hasTitle && from === title) return record;
  if (hasTitle || mayBeIgnored) await links.features.learn('rename', hasTitle ? 'present' : 'absent');
  return hasTitle || !mayBeIgnored ? record : null;
}
