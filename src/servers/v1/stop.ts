/** Stopping a V1 run (interface 7.4). */
import { isAppError } from '../../errors.ts';
import type { Links } from '../links.ts';
import { runningAgentOf } from './agent.ts';
import { getConversation } from './calls.ts';

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
