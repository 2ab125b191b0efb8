import { AppError, isAppError, isFailure, isOfKind } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import {
  readStartTask,
  type AppConversationRecord,
  type StartTaskRecord,
} from '../../protocol/v1/records.ts';
import { poll, QUICK, readThroughOutage, STEADY } from '../../runs/poll.ts';
import type { Delivery } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { normalId } from '../../domain/ids.ts';
import { read, webUrl, type Links } from '../shared/links.ts';
import {
  refuseIgnoredMembers,
  refuseOtherModel,
  refuseUnechoedId,
} from './quirks/ignored-start-members.ts';
import { checkRepositoryArrived } from './quirks/missing-branch-v1.ts';
import { NO_PROGRESS_MS, startedConversation } from './quirks/stalled-start.ts';
import { enterClone } from './quirks/repository-folder.ts';
import { isOnlyUnwritten, unwrittenConversation } from './quirks/unwritten-start.ts';
import type { SentStart, StartOptions, StartProgress } from '../shared/server.ts';
import { abortedStart, ignoredId, refusedStart } from '../shared/start-errors.ts';
import { carryChanges } from '../agent-server/changes.ts';
import { messageContent, POLICIES } from '../agent-server/message.ts';
import { runningAgentOf } from './agent.ts';
import { CONVERSATIONS, find, getConversation, getSandbox, START_TASKS } from './calls.ts';
import { isEcho, listedTask, markingTitle, mayHonourIds } from './lookup.ts';
import { startFailureText, taskConversation, toConversation } from './records.ts';
import { createSandbox, getSpec, removeSandbox } from './sandboxes.ts';
import {
  carriedChanges,
  isSentLater,
  latePolicy,
  refuseWhatIsMissing,
  startBody,
} from './start-body.ts';
import { cut } from '../../base/text/well-formed.ts';

type Starting = AsyncGenerator<StartProgress, Conversation, void>;

/** Where the start takes no spec, a sandbox of it is created first, and deleted after a failure. */
export async function* startV1(
  links: Links,
  request: NewConversation,
  options: StartOptions,
): Starting {
  refuseWhatIsMissing(request, links.facts);
  for (const secret of Object.values(request.secrets)) links.network.redaction.add(secret);
  const delivery: Delivery = { isPossible: false };
  const spec = request.sandbox_id === null ? request.spec_id : null;
  if (spec === null || links.facts.v1_start_members?.includes('sandbox_spec_id')) {
    if (spec !== null) await getSpec(links, spec);
    return yield* startIn(links, request, request.sandbox_id, options, delivery);
  }
  const { id } = await createSandbox(links, spec);
  try {
    yield { start_task_id: '', step: 'creating sandbox', conversation_id: null, sandbox_id: id };
    const isRunning = async () => {
      const { status, status_detail: detail } = await getSandbox(links, id);
      if (status === 'RUNNING') return true;
      if (status !== 'ERROR' && status !== 'MISSING') return undefined;
      const why = detail === null ? '' : `: ${cut(detail, 500)}`;
      throw new AppError('failed', `the sandbox ${id} did not start${why}`, {
        hint: 'list the specs of the server: acs specs list',
        data: { sandbox_id: id },
      });
    };
    const signal = AbortSignal.any([options.signal, links.signal]);
    const every = links.app.loopback ? QUICK : STEADY;
    await poll(isRunning, { clock: links.clock, signal, every });
    return yield* startIn(links, request, id, options, delivery);
  } catch (error) {
    if (delivery.isPossible && !isOfKind('failed')(error)) throw error;
    await removeSandbox(links, id).catch((failure: unknown) => {
      if (!isAppError(failure)) throw failure;
      const remains = `the sandbox ${id}, created for this start, remains`;
      if (failure.kind !== 'not-found')
        links.notice(`warning: ${remains}: acs sandbox delete ${id}`);
    });
    throw error;
  }
}

async function* startIn(
  links: Links,
  request: NewConversation,
  sandboxId: string | null,
  { signal, until, beforeSend }: StartOptions,
  delivery: Delivery,
): Starting {
  const { facts } = links;
  const sentId = normalId(request.conversation_id ?? links.randomId());
  const body = startBody(request, sentId, sandboxId, facts);
  const sent_at = new Date(links.clock.now()).toISOString();
  const sent: SentStart =
    facts.features['caller-conversation-id'] === 'absent'
      ? { id: null, title: markingTitle(sentId), dialect: 'v1', sent_at }
      : { id: sentId, dialect: 'v1', sent_at };
  beforeSend?.(sent);
  const first = await sendStart(links, request, { body, sent, delivery });
  const echoed = isEcho(first, sentId) ? sentId : null;
  yield progress(first, echoed);
  const isCarried = carriedChanges(request, facts) !== null;
  if (until === 'accepted' && !isCarried) {
    if (echoed === null) refuseUnechoedId(request, first);
    refuseIgnoredMembers(links, request, first, echoed);
    return { ...taskConversation(first), url: echoed && webUrl(links, echoed) };
  }
  try {
    return yield* untilStarted(links, request, { first, sentId, echoed, signal });
  } catch (error) {
    throw isCarried ? unsentMessage(error, echoed ?? normalId(first.id)) : error;
  }
}

/** `sentId`: the one in the request; `echoed`: the same where the server has repeated it. */
async function* untilStarted(
  links: Links,
  request: NewConversation,
  {
    first,
    sentId,
    echoed,
    signal,
  }: { first: StartTaskRecord; sentId: string; echoed: string | null; signal: AbortSignal },
): Starting {
  let task = first;
  while (task.status !== 'READY' || task.app_conversation_id === null) {
    task = await nextTask(links, task, echoed, signal);
    yield progress(task, echoed);
  }
  // The local service reports there what it has copied from the checkout, and that commands run
  // without isolation; other servers have null.
  for (const line of task.detail?.split('\n') ?? [])
    links.notice(line.startsWith('dependencies ') ? line : `warning: ${line}`);
  const id = normalId(task.app_conversation_id);
  if (id === sentId) await links.learnEcho();
  else if (echoed !== null) await links.learn('caller-conversation-id', 'absent');
  if (request.conversation_id !== null && id !== sentId) throw ignoredId(sentId, id);
  refuseIgnoredMembers(links, request, first, id);
  const record = await readThroughOutage(links, () => getConversation(links, id));
  await finishStart(links, request, record);
  links.starts.record = record;
  return { ...toConversation(links, record), start_task_id: normalId(first.id) };
}

/** A conversation that has started without its message waits for one. */
function unsentMessage(error: unknown, id: string): unknown {
  const isReported = isOfKind('failed')(error) || !isAppError(error);
  if (isReported || error.details.data?.['conversation_id'] !== undefined) return error;
  const text = `conversation ${id} has started, and its message was not sent: ${error.message}`;
  return new AppError('unknown-outcome', text, {
    ...error.details,
    retryable: false,
    hint: `send it: acs conv send ${id} <message>\ndelete it: acs conv delete ${id}`,
    data: { ...error.details.data, conversation_id: id },
  });
}

async function finishStart(
  links: Links,
  request: NewConversation,
  record: AppConversationRecord,
): Promise<void> {
  refuseOtherModel(links, record, request);
  await checkRepositoryArrived(links, record, request);
  if (!isSentLater(request, links.facts)) return;
  const agent = runningAgentOf(links, record);
  const changes = carriedChanges(request, links.facts);
  if (changes !== null) {
    links.notice('bringing the changes of the checkout into the workspace');
    const enter = enterClone(await agent.conversation(), request.repository);
    await carryChanges(links, agent.transport, enter, changes);
  }
  const policy = latePolicy(request, links.facts);
  if (policy !== null) await agent.setConfirmationPolicy(POLICIES[policy]);
  const content = messageContent(request);
  if (content.length > 0) await agent.send(content, 'run');
}

async function sendStart(
  links: Links,
  request: NewConversation,
  { body, sent, delivery }: { body: Record<string, unknown>; sent: SentStart; delivery: Delivery },
): Promise<StartTaskRecord> {
  const post = async () => {
    const answer = await links.app.request({
      method: 'POST',
      path: CONVERSATIONS.path,
      body,
      timeoutMs: LIMITS_MS.start,
      accept: [400, 422, 501],
      delivery,
    });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return read(answer, readStartTask);
  };
  const orFound = async (error: unknown) => {
    if (links.signal.aborted || !isAppError(error)) throw error;
    const { status = 0 } = error.details;
    if (status >= 400 && status < 500) delivery.isPossible = false;
    if (error.kind !== 'unknown-outcome' && !isUnreadable(error)) throw error;
    delivery.isPossible = true;
    // A second POST with the same id returns the same conversation (interface 4.1).
    const isRepeatable = request.sandbox_id !== null && links.facts.echoes_ids;
    return await afterLostAnswer(links, sent, error, isRepeatable ? post : null);
  };
  try {
    return await post().catch(orFound);
  } catch (error) {
    throw abortedStart(links, error, delivery, maybeTakenAs(links, sent.id));
  }
}

function maybeTakenAs(links: Links, id: string | null) {
  const data = { conversation_id: id };
  if (id === null) return { hint: 'look for it: acs conv list\nstop it: acs conv stop <id>', data };
  const other = mayHonourIds(links) ? '' : '; if the server chose another id: acs conv list';
  const hint = `see: acs conv show ${id}${other}\nstop it: acs conv stop ${id}`;
  return { as: `, as conversation ${id}`, hint, data };
}

/** Whatever fails here, the server may have taken the start. */
async function afterLostAnswer(
  links: Links,
  sent: SentStart,
  lost: AppError,
  repeat: (() => Promise<StartTaskRecord>) | null,
): Promise<StartTaskRecord> {
  const cause = isUnreadable(lost) ? lost.message : 'no answer came to the start';
  const as = sent.id === null ? '' : ` as ${sent.id}`;
  const notShown = (message: string, { details } = lost) =>
    new AppError(isUnreadable(lost) ? 'server' : 'unknown-outcome', message, {
      ...details,
      retryable: false,
      hint: `it may still appear${as}: look with acs conv list before starting it again`,
      data: { conversation_id: sent.id },
    });
  const task = await listedTask(links, sent, links.clock.now()).catch((error: unknown) => {
    throw isFailure(error) ? notShown(lost.message) : error;
  });
  if (task !== undefined) return task;
  if (repeat === null || isUnreadable(lost))
    throw notShown(`${cause}; the server shows neither its conversation nor its start task`);
  return await repeat().catch((error: unknown) => {
    if (links.signal.aborted || !isAppError(error)) throw error;
    throw notShown(`${cause}, and its repetition failed: ${error.message}`, error);
  });
}

/** The server has taken the request, and its answer is not that of the interface. */
function isUnreadable({ kind, details: { status = 0 } }: AppError): boolean {
  return kind === 'server' && status >= 200 && status < 300;
}

/** The task once it has changed; `READY` when its conversation runs. Throws `failed`. */
async function nextTask(
  links: Links,
  before: StartTaskRecord,
  echoedId: string | null,
  limit: AbortSignal,
): Promise<StartTaskRecord> {
  const { clock } = links;
  const { id, status, detail } = before;
  const start_task_id = normalId(id);
  if (status === 'ERROR') {
    const record =
      echoedId !== null && isOnlyUnwritten(before)
        ? await unwrittenConversation(links, () => getConversation(links, echoedId), limit)
        : undefined;
    if (record !== undefined)
      return { ...before, status: 'READY', detail: null, app_conversation_id: record.id };
    const message = `the conversation did not start: ${startFailureText(detail)}`;
    const data = { start_task_id, sandbox_id: before.sandbox_id };
    throw new AppError('failed', message, { data });
  }
  let lookUpAtMs = clock.now() + NO_PROGRESS_MS;
  const changed = async () => {
    const task = await find(links, START_TASKS, id);
    if (task === null)
      throw new AppError('server', `the server no longer has the start task ${start_task_id}`, {
        data: { start_task_id },
      });
    const isReady = task.status === 'READY' && task.app_conversation_id !== null;
    if (isReady || task.status !== status || task.detail !== detail) return task;
    if (clock.now() < lookUpAtMs) return undefined;
    lookUpAtMs = clock.now() + NO_PROGRESS_MS;
    const record = await startedConversation(links, task.app_conversation_id ?? echoedId);
    return record ? { ...task, status: 'READY', app_conversation_id: record.id } : undefined;
  };
  const every = links.app.loopback ? { ...STEADY, firstMs: QUICK.firstMs } : STEADY;
  const signal = AbortSignal.any([limit, links.signal]);
  return await poll(changed, { clock, signal, every, readBefore: true });
}

function progress(task: StartTaskRecord, conversationId: string | null): StartProgress {
  const { status, detail } = task;
  const step = status.toLowerCase().replaceAll('_', ' ');
  const id = task.app_conversation_id ?? conversationId;
  return {
    start_task_id: normalId(task.id),
    step: status === 'READY' || detail === null ? step : `${step}: ${detail}`,
    conversation_id: id === null ? null : normalId(id),
    sandbox_id: task.sandbox_id,
  };
}
