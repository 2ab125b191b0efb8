import { nullIf, isOfKind } from '../../base/errors.ts';
import type { Links } from '../shared/links.ts';
import { untilEffect } from '../shared/quirks/late-effect.ts';
import type { AgentClient } from './client.ts';
import { runAt } from './confirmations.ts';
import { executionStatusOf, isUserMessage } from './event-records.ts';

const STOPPED: ReadonlySet<string> = new Set(['idle', 'paused', 'finished', 'stuck', 'error']);

/** Posts a message, and runs the agent where the message was stored and did not run it. */
export async function untilRun(
  links: Links,
  agent: AgentClient,
  post: () => Promise<void>,
): Promise<void> {
  await untilEffect(links, {
    async send() {
      await post();
      return 'accepted';
    },
    isVisible: () => hasMoved(agent),
    async again() {
      await runAt(links, agent).catch(nullIf(isOfKind('needs-input')));
      return 'needless';
    },
    done: 'the message was stored',
    next: `if it does not run: acs conv resume ${agent.conversationId}`,
  });
}

async function hasMoved(agent: AgentClient): Promise<boolean> {
  const { execution_status: status } = await agent.conversation();
  if (status === null || !STOPPED.has(status)) return true;
  const newest = (await agent.newestEvents()).find(
    (event) => event.kind !== 'ConversationStateUpdateEvent' || executionStatusOf(event) !== null,
  );
  return newest === undefined || !isUserMessage(newest);
}
