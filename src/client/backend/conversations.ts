import { noConversation, normalId } from '../../domain/ids.ts';
import { eachItem } from '../../domain/pages.ts';
import { follow } from '../../runs/follower.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { answerAt, pendingAt, runAt, WAITING } from '../agent-server/confirmations.ts';
import { finalAnswer, historyPages } from '../agent-server/event-records.ts';
import { outgoingContent } from '../agent-server/message.ts';
import { untilRun } from '../agent-server/send.ts';
import { statusError } from '../http/answer.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { removeOrRead } from '../shared/change-routes.ts';
import { waitsForConfirmation } from '../shared/confirmation.ts';
import type { Links } from '../shared/links.ts';
import { webPage } from '../shared/local-routes.ts';
import type { Adapter, IdOrRecord, OutgoingMessage } from '../shared/server.ts';
import { agentOf, find, getRecord, ownMachine, pathOf } from './calls.ts';
import { changedFilesBackend, diffBackend } from './diff.ts';
import { BackendSource, withReason } from './follow.ts';
import { pageUrl, toConversation } from './records.ts';
import { startBackend } from './start.ts';
import { folderOf, type Folders } from './folder.ts';
import { leftover, removeWorktree } from './worktree.ts';

export function createBackendConversations(
  links: Links,
  finding: Pick<Adapter['conversations'], 'list' | 'get'>,
  folders: Folders,
): Adapter['conversations'] {
  const idOf = (of: IdOrRecord) => (typeof of === 'string' ? of : of.id);
  const agentAt = (of: IdOrRecord) => agentOf(links, idOf(of));
  return {
    ...finding,
    start: (request, options) => startBackend(links, request, options),
    async findStart({ id }) {
      const record = id === null ? null : await find(links, id);
      return record && toConversation(links, record);
    },
    async getComplete(of) {
      const agent = agentAt(of);
      return await withReason(links, agent, await finding.get(agent.conversationId));
    },
    async runsInSandbox(id) {
      return (await getRecord(links, id)).execution_status === 'running';
    },
    async rename(id, title) {
      const call = { method: 'PATCH', body: { title }, safe: 'idempotent' } as const;
      const answer = await links.app.request({ ...call, path: pathOf(id), accept: [404] });
      if (answer.status === 404) throw noConversation(id);
      return await finding.get(id);
    },
    async remove(id) {
      const place = await folderOf(links, folders, id);
      await remove(links, id);
      const stays = leftover(place);
      if (stays !== null) links.notice(`conversation ${id}: ${stays}`);
    },
    async removeWorktree(id, unmerged) {
      const place = await folderOf(links, folders, id);
      await removeWorktree(links, place, unmerged);
      folders.set(normalId(id), { ...place, own: null });
    },
    eventPages(of, query) {
      const agent = agentAt(of);
      const { redaction } = links.network;
      return historyPages(agent.eventPages(query), agent.conversationId, redaction, query.limit);
    },
    follow: (id, options) =>
      follow(new BackendSource(links, id, options), links.clock, links.signal, options),
    async result(of) {
      const pages = agentAt(of).eventPages({ order: 'newest-first' });
      return await finalAnswer(eachItem(pages), links.network.redaction);
    },
    send: (to, message) => send(links, agentAt(to), message),
    pending: (id) => pendingAt(links, agentAt(id)),
    answer: (id, answer) => answerAt(links, agentAt(id), answer),
    checkAnswer: () => Promise.resolve(),
    run: (id) => runAt(links, agentAt(id)),
    startSandbox: () => Promise.reject(ownMachine()),
    untilStored: () => Promise.resolve(),
    stop: (id) => agentAt(id).stop(),
    diff: async (id, options) =>
      await diffBackend(links, await folderOf(links, folders, id), options),
    folder: async (id) => (await folderOf(links, folders, id)).folder,
    changedFiles: async (of) =>
      await changedFilesBackend(links, await folderOf(links, folders, idOf(of))),
    storedPatch: () => Promise.reject(ownMachine()),
    webPage: (id) => webPage(links, id, pageUrl(links, id)),
  };
}

/** A repeated deletion is answered with 400. */
async function remove(links: Links, id: string): Promise<void> {
  const isThere = async () => (await find(links, id)) !== null;
  await removeOrRead(links, `conversation ${id}`, {
    async remove() {
      const answer = await links.app.request({
        method: 'DELETE',
        path: pathOf(id),
        timeoutMs: LIMITS_MS.deletion,
        accept: [400, 404],
      });
      if (answer.status < 300 || answer.afterLostTry) return;
      if (answer.status === 404 || !(await isThere())) throw noConversation(id);
      throw statusError(answer);
    },
    isThere,
  });
}

async function send(links: Links, agent: AgentClient, message: OutgoingMessage): Promise<void> {
  const content = outgoingContent(message);
  if (message.effect === 'store') return await agent.send(content, 'store');
  const { execution_status: status } = await agent.conversation();
  if (status === WAITING) throw waitsForConfirmation(agent.conversationId);
  // A message that runs while another run works would run twice.
  const effect = status === 'running' ? 'store' : 'run';
  await untilRun(links, agent, () => agent.send(content, effect));
}
