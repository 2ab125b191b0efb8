/** The V0 adapter of the port (interface 3): what V0 lacks is `unsupported`. */
import { AppError, isAppError } from '../../errors.ts';
import { readGitChanges, readGitDiff } from '../../protocol/agent-server/records.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { EventRecordV0 } from '../../protocol/v0/records.ts';
import { parseTime } from '../../text/time.ts';
import { changeOverV0 } from '../change-routes.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { waitsForConfirmation } from '../confirmation.ts';
import { removeForGood } from '../quirks/returning-record.ts';
import { createSecrets } from '../secrets.ts';
import type { EventQuery, FilesRead, OutgoingMessage, Server, WorkspaceDiff } from '../server.ts';
import { diffFromFiles } from '../text-patch.ts';
import { foundNothing, serverText, statusError } from '../transport/answer.ts';
import { answerV0, checkAnswerV0, pendingV0, refuseWaitingV0, runV0, wakeV0 } from './answers.ts';
import {
  eventPagesBackwardV0,
  eventPagesForwardV0,
  eventsBackwardV0,
  getConversationV0,
  listConversationsV0,
  noConversationV0,
  otherDialect,
  pathOfV0,
  runtimeOf,
  V0_TIMEOUT_MS,
} from './calls.ts';
import { followV0 } from './follow.ts';
import { listOwnV0 } from '../quirks/mixed-list-v0.ts';
import { readNews } from './news.ts';
import { answerOfV0, isUserMessage, kindOf, newsOfRecord, toConversationV0, toEventV0 } from './records.ts';
import { renameV0 } from '../quirks/overwritten-title-v0.ts';
import { createSettingsV0 } from './settings.ts';
import { startV0 } from './start.ts';

export type V0 = Omit<Server, 'info' | 'presence' | 'close' | 'withSignal'>;

/** Interface 3.2: they are left out after paging, so not even a page tells that something is missing. */
const OLD_ONES_HIDDEN =
  'V0 conversations older than ten days may be missing: this server does not list them; acs conv show <id> finds them';

export function createV0(links: Links, facts: ProbeFacts): V0 {
  const webUrl = (id: string): string | null =>
    facts.flavour === 'local' ? null : `${links.app.baseUrl}/conversations/${id}`;
  const settled = async (id: string): Promise<ReturnType<typeof toConversationV0>> => {
    const info = await getConversationV0(links, id);
    // Its routes tell the record of one of V1, too, and refuse everything else about it.
    if (info.conversation_version === 'V1' && facts.dialects.includes('v1')) throw otherDialect(id);
    return toConversationV0(info, await readNews(links, info), webUrl);
  };
  return {
    account: () => Promise.resolve({ user: null, email: null, organization: null }),
    conversations: {
      start: (request, options) => startV0(links, webUrl, request, options),
      async list(query, page) {
        const list = facts.dialects.includes('v1') ? listOwnV0 : listConversationsV0;
        const { items, next } = await list(links, query.pageSize ?? 100, page);
        if (next === null && query.omissions === 'say' && facts.flavour !== 'local') links.notice(OLD_ONES_HIDDEN);
        return {
          items: items
            .map((info) => toConversationV0(info, newsOfRecord(info), webUrl))
            .filter((one) => matches(one, query)),
          next,
        };
      },
      get: settled,
      getSettled: settled,
      // The state is read from the events, which cannot contradict it.
      runsInSandbox: () => Promise.resolve(false),
      rename: (id, title) =>
        renameV0(links, title, { patch: () => patchTitleV0(links, facts, id, title), look: () => settled(id) }),
      remove: (id) =>
        removeForGood(links, id, { remove: () => removeV0(links, facts, id), isThere: () => isThereV0(links, id) }),
      eventPages: (id, query) => eventPagesV0(links, id, query),
      follow: (id, options) => followV0(links, webUrl, id, options),
      result: (id) => resultV0(links, id),
      send: (id, message) => sendV0(links, id, message),
      pending: (id) => pendingV0(links, id),
      answer: (id, answer) => answerV0(links, id, answer),
      checkAnswer: (id, answer) => checkAnswerV0(id, answer),
      run: (id) => runV0(links, id),
      wake: (id) => wakeV0(links, id),
      stop: (id) => stopV0(links, id),
      diff: (id, onRead) => diffV0(links, id, onRead),
    },
    sandboxes: sandboxesOfV0(),
    specs: { list: () => lacks('sandbox specs'), get: () => lacks('sandbox specs') },
    settings: createSettingsV0(links, facts),
    secrets: createSecrets(links, facts, 'v0'),
    modelProfiles: modelProfilesOfV0(),
  };
}

function lacks(what: string): Promise<never> {
  return Promise.reject(new AppError('unsupported', `this server speaks V0 only, which has no ${what}; V1 servers do`));
}

function sandboxesOfV0(): Server['sandboxes'] {
  const none = (): Promise<never> => lacks('sandboxes');
  return { list: none, get: none, secrets: none, create: none, pause: none, resume: none, remove: none };
}

function modelProfilesOfV0(): Server['modelProfiles'] {
  const none = (): Promise<never> => lacks('model profiles');
  return { list: none, get: none, save: none, use: none, rename: none, remove: none };
}

/** V0 has no such filters; they are applied here, so a page may be short. */
function matches(
  conversation: ReturnType<typeof toConversationV0>,
  query: Parameters<Server['conversations']['list']>[0],
): boolean {
  const { titleContains, createdAfter, createdBefore, sandboxId } = query;
  const created = parseTime(conversation.created_at);
  if (titleContains !== undefined && !(conversation.title ?? '').toLowerCase().includes(titleContains.toLowerCase()))
    return false;
  if (createdAfter !== undefined && (created ?? -Infinity) < (parseTime(createdAfter) ?? -Infinity)) return false;
  if (createdBefore !== undefined && (created ?? Infinity) >= (parseTime(createdBefore) ?? Infinity)) return false;
  return sandboxId === undefined || conversation.sandbox_id === sandboxId;
}

async function* eventPagesV0(
  links: Links,
  id: string,
  query: EventQuery,
): AsyncGenerator<ConversationEvent[], void, void> {
  const info = await getConversationV0(links, id);
  const sinceMs = parseTime(query.since ?? null);
  let left = query.limit ?? Infinity;
  if (left <= 0) return;
  const isBackward = query.order === 'newest-first';
  const isBefore = (event: EventRecordV0) => sinceMs !== null && (parseTime(event.timestamp) ?? Infinity) < sinceMs;
  const pages = isBackward ? eventPagesBackwardV0(links, info) : eventPagesForwardV0(links, info, 0);
  for await (const page of pages) {
    const events = page
      .filter((event) => !isBefore(event) && (query.kinds === undefined || query.kinds.includes(kindOf(event))))
      .slice(0, left)
      .map((event) => toEventV0(event, info.conversation_id, links.network.redaction));
    yield events;
    left -= events.length;
    if (left <= 0 || (isBackward && page.some(isBefore))) return;
  }
}

async function patchTitleV0(links: Links, facts: ProbeFacts, id: string, title: string): Promise<void> {
  const call = { method: 'PATCH', body: { title }, isThere: () => isThereV0(links, id) } as const;
  const { status } = await changeOverV0(links, facts, id, 'rename a conversation', call);
  if (status === 404) throw noConversationV0(id);
}

async function removeV0(links: Links, facts: ProbeFacts, id: string): Promise<void> {
  const call = { method: 'DELETE', timeoutMs: V0_TIMEOUT_MS, isThere: () => isThereV0(links, id) } as const;
  if (foundNothing(await changeOverV0(links, facts, id, 'delete a conversation', call))) throw noConversationV0(id);
}

async function isThereV0(links: Links, id: string): Promise<boolean> {
  try {
    await getConversationV0(links, id);
    return true;
  } catch (error) {
    if (isAppError(error) && error.kind === 'not-found') return false;
    throw error;
  }
}

async function resultV0(links: Links, id: string): Promise<string | null> {
  const info = await getConversationV0(links, id);
  for await (const event of eventsBackwardV0(links, info)) {
    if (isUserMessage(event)) return null;
    const answer = answerOfV0(event);
    if (answer !== null) return links.network.redaction.known(answer);
  }
  return null;
}

/** As a raw action: the route for messages is younger than V0 itself (interface 3.4). Sent once. */
async function sendV0(links: Links, id: string, message: OutgoingMessage): Promise<void> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() !== 'RUNNING') {
    throw new AppError('conflict', `this conversation does not run (it is ${info.status.toLowerCase()})`, {
      hint: 'resume it with: acs conv send --resume',
    });
  }
  await refuseWaitingV0(links, info);
  const { transport, path } = runtimeOf(links, info);
  const answer = await transport.request({
    method: 'POST',
    path: `${path}/events`,
    body: { action: 'message', args: { content: message.text, image_urls: message.image_urls } },
    safe: 'once',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [409],
  });
  if (answer.status !== 409) return;
  const text = serverText(answer.body) ?? 'it names no reason';
  if (/confirmation/i.test(text)) throw waitsForConfirmation(info.conversation_id);
  throw new AppError('conflict', `the server refuses this message: ${text}`, {
    status: 409,
    request: answer.request,
  });
}

async function stopV0(links: Links, id: string): Promise<void> {
  await getConversationV0(links, id);
  await links.app.request({
    method: 'POST',
    path: `${pathOfV0(id)}/stop`,
    safe: 'idempotent',
    timeoutMs: V0_TIMEOUT_MS,
  });
}

async function diffV0(links: Links, id: string, onRead?: FilesRead): Promise<WorkspaceDiff> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() !== 'RUNNING') {
    throw new AppError(
      'conflict',
      `this conversation does not run (it is ${info.status.toLowerCase()}), so its workspace cannot be read`,
    );
  }
  const { transport, path } = runtimeOf(links, info);
  // Old servers tell paths from the workspace on, in which the repository is one folder.
  const folder = info.selected_repository === null ? null : `${info.selected_repository.split('/').at(-1)}/`;
  const servedPaths = new Map<string, string>();
  const inRepository = <T extends { path: string }>(change: T): T => {
    if (folder === null || !change.path.startsWith(folder)) return change;
    const own = change.path.slice(folder.length);
    servedPaths.set(own, change.path);
    return { ...change, path: own };
  };
  const changes = async (): Promise<ReturnType<typeof readGitChanges>> => {
    const answer = await transport.request({
      method: 'GET',
      path: `${path}/git/changes`,
      safe: 'read',
      timeoutMs: V0_TIMEOUT_MS,
      accept: [404],
    });
    if (answer.status < 300) return read(answer, (body) => readGitChanges(body)).map(inRepository);
    if (isRecord(answer.body) && /not a git repository/i.test(String(answer.body['error']))) return [];
    throw statusError(answer, { request: answer.request });
  };
  const sides = async (file: string): Promise<ReturnType<typeof readGitDiff>> => {
    const answer = await transport.request({
      method: 'GET',
      path: `${path}/git/diff`,
      query: { path: servedPaths.get(file) ?? file },
      safe: 'read',
      timeoutMs: V0_TIMEOUT_MS,
      // Of a binary file, which is named as left out.
      accept: [500],
    });
    return answer.status === 500 ? { original: null, modified: null } : read(answer, (body) => readGitDiff(body));
  };
  const diff = await diffFromFiles(changes, sides, onRead);
  if (diff.changes.length === 0 && info.selected_repository === null)
    diff.omissions.push('what changed in a workspace without a repository: this server does not see it');
  return diff;
}
