/** What changes a V1 conversation, besides its title: delete, a stop (interface 4.4, 7.4). */
import { isAppError } from '../../errors.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation, noConversation } from './calls.ts';

const DELETE_TIMEOUT_MS = 60_000;

function pathOf(id: string): string {
  return `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
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
