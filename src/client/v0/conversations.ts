import { isNotFound, nullIf } from '../../base/errors.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { earlierThan } from '../../base/text/time.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { readGitChanges, readGitDiff } from '../../protocol/agent-server/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import { changeOverV0, removeOrRead } from '../shared/change-routes.ts';
import { diffFromFiles } from '../shared/diff-from-files.ts';
import { errorBy, reasonOf, statusError } from '../http/answer.ts';
import { noConversation } from '../../domain/ids.ts';
import { read, type Links } from '../shared/links.ts';
import { lostClone } from '../shared/start-errors.ts';
import { checkRepositoryArrivedV0 } from './quirks/missing-branch-v0.ts';
import { createRepositoryPaths } from './quirks/workspace-paths-v0.ts';
import type {
  Adapter,
  DiffOptions,
  EventQuery,
  FinalAnswer,
  IdOrRecord,
  WorkspaceDiff,
} from '../shared/server.ts';
import { appConversations } from '../shared/local-routes.ts';
import { answerV0, checkAnswerV0, pendingV0, runV0, sendV0 } from './answers.ts';
import {
  eventPagesV0,
  eventsV0,
  getConversationV0,
  getRunningV0,
  pathOfV0,
  runtimeOf,
} from './calls.ts';
import { followV0 } from './follow.ts';
import { answerOfV0, isUserMessage, readNews, toEventV0 } from './events.ts';
import { toConversationV0 } from './records.ts';
import { findStartV0, startV0 } from './start.ts';

type Conversations = Adapter['conversations'];

export function createConversationsV0(links: Links, list: Conversations['list']): Conversations {
  const { app } = links;
  const isThere = async (id: string) =>
    (await getConversationV0(links, id).catch(nullIf(isNotFound))) !== null;
  const get: Conversations['get'] = async (id) => {
    const info = await getConversationV0(links, id);
    // This route returns the record of a V1 conversation too; the other routes refuse its id.
    if (info.conversation_version === 'V1' && links.facts.dialects.includes('v1'))
      throw noConversation(id);
    return toConversationV0(links, info, await readNews(links, info));
  };
  return {
    ...appConversations(links),
    start: (request, options) => startV0(links, request, options),
    findStart: (sent) => findStartV0(sent, get),
    list,
    get,
    getComplete: (of) => get(idOf(of)),
    // The state is read from the events, which cannot contradict it.
    runsInSandbox: () => Promise.resolve(false),
    async rename(id, title) {
      const call = { method: 'PATCH', body: { title }, isThere: () => isThere(id) } as const;
      await changeOverV0(links, id, call);
      return await readThroughOutage(links, () => get(id));
    },
    remove: (id) =>
      removeOrRead(links, `conversation ${id}`, {
        remove: () => changeOverV0(links, id, { method: 'DELETE', isThere: () => isThere(id) }),
        isThere: () => isThere(id),
      }),
    eventPages: (of, query) => queriedPages(links, idOf(of), query),
    follow: (id, options) => followV0(links, id, options),
    result: (of) => resultV0(links, idOf(of)),
    send: (to, message) => sendV0(links, idOf(to), message),
    pending: (id) => pendingV0(links, id),
    answer: (id, answer) => answerV0(links, id, answer),
    checkAnswer: checkAnswerV0,
    run: (id) => runV0(links, id),
    async startSandbox(id) {
      const call = { path: `${pathOfV0(id)}/start`, body: {}, accept: [404, 409, 410] };
      const answer = await app.request({ ...call, method: 'POST', safe: 'idempotent' });
      if (answer.status === 404) throw noConversation(id);
      if (answer.status < 400) return;
      const message = `conversation ${id} cannot be started: ${reasonOf(answer)}`;
      const hint = `its events stay readable: acs conv events ${id}`;
      throw errorBy(answer, 'conflict', message, { hint });
    },
    untilStored: () => Promise.resolve(),
    async stop(id) {
      await getConversationV0(links, id);
      await app.request({ method: 'POST', path: `${pathOfV0(id)}/stop`, safe: 'idempotent' });
    },
    diff: (id, options) => diffV0(links, id, options),
    /** The server returns lines for one file a request. */
    async changedFiles(of) {
      const { changes } = await workspaceV0(links, idOf(of));
      return (await changes()).map(({ path }) => ({ path, added: null, removed: null }));
    },
    folder: () => Promise.resolve(null),
  };
}

function idOf(of: IdOrRecord): string {
  return typeof of === 'string' ? of : of.id;
}

async function resultV0(links: Links, id: string): Promise<FinalAnswer | null> {
  for await (const event of eventsV0(links, await getConversationV0(links, id), null)) {
    if (isUserMessage(event)) return null;
    const text = answerOfV0(event);
    if (text !== null)
      return { text: links.network.redaction.known(text), event_id: String(event.id) };
  }
  return null;
}

async function* queriedPages(
  links: Links,
  id: string,
  query: EventQuery,
): AsyncGenerator<ConversationEvent[], void, void> {
  const info = await getConversationV0(links, id);
  const isBefore = earlierThan(query.since);
  let left = query.limit ?? Infinity;
  if (left <= 0) return;
  const isBackward = query.order === 'newest-first';
  for await (const page of eventPagesV0(links, info, isBackward ? null : 0)) {
    const events = page
      .filter((event) => !isBefore(event))
      .slice(0, left)
      .map((event) => toEventV0(event, info.conversation_id, links.network.redaction));
    yield events;
    left -= events.length;
    if (left <= 0 || (isBackward && page.some(isBefore))) return;
  }
}

async function workspaceV0(links: Links, id: string) {
  const info = await getRunningV0(links, id, undefined, ', so its workspace cannot be read');
  const { transport, path } = runtimeOf(links, info);
  const paths = createRepositoryPaths(info.selected_repository);
  const changes = async () => {
    const answer = await transport.request({ path: `${path}/git/changes`, accept: [404] });
    const { status, body } = answer;
    // The workspace has no git repository; another 404 has `detail`.
    const isWithout = status === 404 && isRecord(body) && 'error' in body;
    if (status === 404 && !isWithout) throw statusError(answer);
    const listed = isWithout ? [] : read(answer, readGitChanges);
    return listed.map((change) => ({ ...change, path: paths.inRepository(change.path) }));
  };
  return { info, transport, path, paths, changes };
}

async function diffV0(links: Links, id: string, options?: DiffOptions): Promise<WorkspaceDiff> {
  const { info, transport, path, paths, changes } = await workspaceV0(links, id);
  const { selected_repository: repository } = info;
  const listChanges = async () => {
    const listed = await changes();
    // Where nothing was cloned, a server answers as where nothing changed.
    if (listed.length === 0 && repository !== null) {
      const found = await checkRepositoryArrivedV0(links, info, repository, null);
      if (found === 'lost') throw lostClone(id);
    }
    return listed;
  };
  const readSides = async (file: string) => {
    const query = { path: paths.served(file) };
    // A binary file is answered with 500; it is named as left out.
    const answer = await transport.request({ path: `${path}/git/diff`, query, accept: [500] });
    return answer.status === 500 ? { original: null, modified: null } : read(answer, readGitDiff);
  };
  const diff = await diffFromFiles(listChanges, readSides, options);
  if (diff.changes.length === 0 && repository === null)
    diff.omissions.push(
      'changes in a workspace without a repository: the server does not return them',
    );
  return diff;
}
