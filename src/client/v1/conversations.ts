import { AppError } from '../../base/errors.ts';
import { changeOverV0, changeOverV1, removeOrRead } from '../shared/change-routes.ts';
import { foundNothing } from '../http/answer.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { follow } from '../../runs/follower.ts';
import type { PendingAction } from '../../domain/confirmation.ts';
import { noConversation } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { refuseNeighbours } from './quirks/deleted-neighbours.ts';
import { createCopyNotices, untilCopied } from './quirks/late-copy.ts';
import { renameV1 } from './quirks/replaced-title.ts';
import type { Adapter, RemovalScope } from '../shared/server.ts';
import { appConversations } from '../shared/local-routes.ts';
import { agentOf, runningAgentOf } from './agent.ts';
import { searchAppEvents } from './app-events.ts';
import { CONVERSATIONS, find, getConversation, isThereV1, conversationRecord } from './calls.ts';
import { completeRecord } from './complete-record.ts';
import { answerAt, pendingAt, runAt, unanswered, WAITING } from '../agent-server/confirmations.ts';
import { changedFilesV1, diffV1, folderV1 } from './diff.ts';
import { eventPagesV1, resultV1 } from './events.ts';
import { SourceV1 } from './follow.ts';
import { lastExecutionStatus } from './last-status.ts';
import { findStart, getByStart } from './lookup.ts';
import { resumeSandbox } from './sandboxes.ts';
import { sendV1 } from './send.ts';
import { startV1 } from './start.ts';

export function createConversationsV1(
  links: Links,
  finding: Pick<Adapter['conversations'], 'list' | 'get'>,
): Adapter['conversations'] {
  const copy = createCopyNotices(links);
  return {
    ...finding,
    ...appConversations(links),
    start: (request, options) => startV1(links, request, options),
    findStart: (sent) => findStart(links, sent),
    async getComplete(id) {
      if (typeof id !== 'string')
        return await completeRecord(links, await conversationRecord(links, id));
      const record = await find(links, CONVERSATIONS, id);
      if (record !== null) return await completeRecord(links, record);
      const started = await getByStart(links, id);
      if (started.id === '') return started;
      const conversation = await completeRecord(links, await getConversation(links, started.id));
      return { ...conversation, start_task_id: started.start_task_id };
    },
    async runsInSandbox(id) {
      const agent = agentOf(links, await getConversation(links, id));
      return agent !== null && (await agent.conversation()).execution_status === 'running';
    },
    rename: (id, title) => renameV1(links, id, title),
    remove: (id, scope) => removeV1(links, id, scope),
    eventPages: (of, query) => eventPagesV1(links, copy, of, query),
    follow: (id, options) =>
      follow(new SourceV1(links, copy, id, options), links.clock, links.signal, options),
    result: (of) => resultV1(links, copy, of),
    send: (to, message) => sendV1(links, to, message),
    pending: (id, paused) => pendingV1(links, id, paused),
    answer: async (id, answer) =>
      await answerAt(links, runningAgentOf(links, await getConversation(links, id)), answer),
    checkAnswer: () => Promise.resolve(),
    run: async (id) => await runAt(links, runningAgentOf(links, await getConversation(links, id))),
    async startSandbox(id) {
      const { sandbox_id: sandboxId, sandbox_status: status } = await getConversation(links, id);
      if (sandboxId !== null && status !== 'MISSING') return await resumeSandbox(links, sandboxId);
      const message = `the sandbox of conversation ${id} is gone and cannot be started`;
      throw new AppError('conflict', message, {
        hint: `its events stay readable: acs conv events ${id}`,
        data: { sandbox_status: 'missing' },
      });
    },
    untilStored: async (id) => untilCopied(links, await getConversation(links, id)),
    stop: async (id) => await runningAgentOf(links, await getConversation(links, id)).stop(),
    diff: (id, options) => diffV1(links, id, options),
    changedFiles: (of) => changedFilesV1(links, of),
    folder: (id) => folderV1(links, id),
  };
}

async function pendingV1(
  links: Links,
  id: string,
  paused: 'refuse' | 'read-copy' = 'refuse',
): Promise<PendingAction[]> {
  const record = await getConversation(links, id);
  if (paused === 'refuse' || record.sandbox_status !== 'PAUSED')
    return await pendingAt(links, runningAgentOf(links, record));
  const status = record.execution_status ?? (await lastExecutionStatus(links, id));
  if (status?.toLowerCase() !== WAITING) return [];
  return await unanswered(links, id, {
    events: (query, page) => searchAppEvents(links, id, query, page),
  });
}

/** Throws `conflict` where the route of V0 may delete others (interface 4.4). */
async function removeV1(
  links: Links,
  id: string,
  { alsoGone }: RemovalScope = { alsoGone: () => false },
): Promise<void> {
  const isThere = () => isThereV1(links, id);
  const call = { method: 'DELETE', timeoutMs: LIMITS_MS.deletion, isThere } as const;
  const remove = async () => {
    const overV1 = await changeOverV1(links, 'delete-conversation', id, call);
    if (overV1 !== null) {
      if (foundNothing(overV1)) throw noConversation(id);
      return await links.learn('delete-conversation', 'present');
    }
    if (alsoGone !== 'any' && links.facts.dialects.includes('v0'))
      await refuseNeighbours(links, id, alsoGone);
    await changeOverV0(links, id, call);
  };
  await removeOrRead(links, `conversation ${id}`, { remove, isThere });
}
