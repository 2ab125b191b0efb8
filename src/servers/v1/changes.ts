/** What changes a V1 conversation: rename, delete, a stop (interface 4.4, 7.4). */
import { isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { readAppConversation } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation, noConversation } from './calls.ts';
import { toConversation, type WebUrl } from './records.ts';

const DELETE_TIMEOUT_MS = 60_000;

function pathOf(id: string): string {
  return `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
}

/** Release 1.6.0 ignores the title here and takes it at the V0 route, which knows V1 ids too. */
export async function renameV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  title: string,
): Promise<Conversation> {
  if (facts.features.includes('delete-conversation') || !facts.dialects.includes('v0')) {
    const call = {
      method: 'PATCH',
      path: pathOf(id),
      body: { title },
      safe: 'idempotent',
      accept: [404, 405],
    } as const;
    const answer = await links.app.request(call);
    if (answer.status === 404) throw noConversation(id);
    if (answer.status < 300) {
      const record = read(answer, (body) => readAppConversation(body));
      if (record.title === title || !facts.dialects.includes('v0')) return toConversation(record, webUrl);
    }
  }
  const path = `/api/conversations/${encodeURIComponent(normalId(id))}`;
  const answer = await links.app.request({ method: 'PATCH', path, body: { title }, safe: 'idempotent', accept: [404] });
  if (answer.status === 404) throw noConversation(id);
  return toConversation(await getConversation(links, id), webUrl);
}

export async function removeV1(links: Links, facts: ProbeFacts, id: string): Promise<void> {
  if (facts.features.includes('delete-conversation') || !facts.dialects.includes('v0')) {
    const answer = await links.app.request({
      method: 'DELETE',
      path: pathOf(id),
      safe: 'idempotent',
      timeoutMs: DELETE_TIMEOUT_MS,
      accept: [400, 404],
    });
    if (answer.status >= 400) throw noConversation(id);
    return;
  }
  const path = `/api/conversations/${encodeURIComponent(normalId(id))}`;
  const answer = await links.app.request({
    method: 'DELETE',
    path,
    safe: 'idempotent',
    timeoutMs: DELETE_TIMEOUT_MS,
    accept: [404],
  });
  if (answer.status === 404 || answer.body === false) throw noConversation(id);
}

/** Interrupts; pauses where the server is too old for that, which answers only when the step in hand has ended. */
export async function stopV1(links: Links, id: string): Promise<void> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  try {
    if ((await agent.interrupt()) === 'taken') return;
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'server') throw error;
  }
  await agent.pause();
}
