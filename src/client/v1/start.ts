/** Interface 4.1, 4.2. */
import { AppError, isAppError } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { readStartTask, type StartTaskRecord } from '../../protocol/v1/records.ts';
import { poll, QUICK, readThroughOutage, STEADY } from '../../runs/poll.ts';
import type { Delivery } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { normalId } from '../../domain/ids.ts';
import { read, webUrlOf, type Links } from '../shared/links.ts';
import type { ProbeFacts } from '../shared/features.ts';
import {
  refuseIgnoredMembers,
  refuseOtherModel,
  refuseUnechoedId,
} from './quirks/ignored-start-members.ts';
import { checkRepositoryArrived } from './quirks/missing-branch-v1.ts';
import { NO_PROGRESS_MS, startedConversation } from './quirks/stalled-start.ts';
import { isOnlyUnwritten, unwrittenConversation } from './quirks/unwritten-start.ts';
import type { SentStart, StartOptions, StartProgress } from '../shared/server.ts';
import { abortedStart, ignoredId, refusedStart } from '../shared/start-errors.ts';
import { runningAgentOf } from './agent.ts';
import { CONVERSATIONS, find, getConversation, getSandbox, START_TASKS } from './calls.ts';
import { findLostStart, isEcho, markingTitle } from './lookup.ts';
import { startFailureText, taskConversation, toConversation } from './records.ts';
import { createSandbox, getSpec, removeSandbox } from './sandboxes.ts';
import {
  messageContent,
  POLICIES,
  refuseWhatIsMissing,
  startBody,
  startsWithPolicy,
} from './start-body.ts';
import { cut } from '../../base/text/well-formed.ts';

type Starting = AsyncGenerator<StartProgress, Conversation, void>;

/**
 * Where the start takes no spec, a sandbox of it is created first, and deleted when the start is
 * not taken.
 */
export async function* startV1(
  links: Links,
  facts: ProbeFacts,
  request: NewConversation,
  options: StartOptions,
): Starting {
  refuseWhatIsMissing(request, facts);
  for (const secret of Object.values(request.secrets)) links.network.redaction.add(secret);
  const delivery: Delivery = { isPossible: false };
  const spec = request.sandbox_id === null ? request.spec_id : null;
  if (spec === null || facts.v1_start_members?.includes('sandbox_spec_id')) {
    if (spec !== null) await getSpec(links, spec);
    return yield* startIn(links, facts, request, request.sandbox_id, options, delivery);
  }
  const { id } = await createSandbox(links, spec);
  try {
    yield { start_task_id: '', step: 'creating sandbox', conversation_id: null, sandbox_id: id };
    const isRunning = async (): Promise<true | undefined> => {
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
    await poll(isRunning, {
      clock: links.clock,
      signal,
      every: links.app.loopback ? QUICK : STEADY,
    });
    return yield* startIn(links, facts, request, id, options, delivery);
  } catch (error) {
    if (delivery.isPossible && !(isAppError(error) && error.kind === 'failed')) throw error;
    // A signal and the deadline end the deletion too.
    await removeSandbox(links, id).catch((failure: unknown) => {
      if (!isAppError(failure)) throw failure;
      if (failure.kind !== 'not-found')
        links.notice(
          `warning: the sandbox ${id}, created for this start, remains: acs sandbox delete ${id}`,
        );
    });
    throw error;
  }
}

async function* startIn(
  links: Links,
  facts: ProbeFacts,
  request: NewConversation,
  sandboxId: string | null,
  { signal, until, beforeSend }: StartOptions,
  delivery: Delivery,
): Starting {
  // An id of digits alone breaks the database of genuine servers (interface 4.1).
  const sentId = normalId(request.conversation_id ?? links.randomId().replace(/^./, 'a'));
  const body = startBody(request, sentId, sandboxId, facts);
  const sent_at = new Date(links.clock.now()).toISOString();
  const sent: SentStart =
    facts.features['caller-conversation-id'] === 'absent'
      ? { id: null, title: markingTitle(sentId), dialect: 'v1', sent_at }
      : { id: sentId, dialect: 'v1', sent_at };
  beforeSend?.(sent);
  const first = await sendStart(links, facts, request, { body, sent, delivery });
  const echoed = isEcho(first, sentId) ? sentId : null;
  yield progress(first, echoed);
  if (until === 'accepted') {
    if (echoed === null) refuseUnechoedId(request, first);
    refuseIgnoredMembers(links, facts, request, first, echoed);
    return { ...taskConversation(first), url: echoed === null ? null : webUrlOf(links)(echoed) };
  }
  let task = first;
  while (task.status !== 'READY' || task.app_conversation_id === null) {
    if (task.status === 'ERROR') {
      const readRecord = () => getConversation(links, sentId);
      const isUnwritten = echoed !== null && isOnlyUnwritten(task);
      const record = isUnwritten
        ? await unwrittenConversation(links, readRecord, signal)
        : undefined;
      if (record === undefined)
        throw new AppError(
          'failed',
          `the conversation did not start: ${startFailureText(task.detail)}`,
          {
            data: { start_task_id: normalId(task.id), sandbox_id: task.sandbox_id },
          },
        );
      task = { ...task, status: 'READY', detail: null, app_conversation_id: record.id };
    } else task = await nextTask(links, task, echoed, signal);
    yield progress(task, echoed);
  }
  // The local service names there that commands run without isolation; other servers have null.
  if (task.detail !== null) links.notice(`warning: ${task.detail}`);
  const id = normalId(task.app_conversation_id);
  if (id === sentId) await links.features.learnEcho();
  else if (echoed !== null) await links.features.learn('caller-conversation-id', 'absent');
  if (request.conversation_id !== null && id !== sentId) throw ignoredId(sentId, id);
  refuseIgnoredMembers(links, facts, request, first, id);
  const record = await readThroughOutage(links, () => getConversation(links, id));
  refuseOtherModel(links, record, request);
  await checkRepositoryArrived(links, record, request);
  if (request.confirm !== null && !startsWithPolicy(facts)) {
    const agent = runningAgentOf(links, record);
    await agent.setConfirmationPolicy(POLICIES[request.confirm]);
    const content = messageContent(request);
    if (content.length > 0) await agent.send(content, 'run');
  }
  links.starts.record = record;
  return { ...toConversation(links, record), start_task_id: normalId(first.id) };
}

async function sendStart(
  links: Links,
  facts: ProbeFacts,
  request: NewConversation,
  { body, sent, delivery }: { body: Record<string, unknown>; sent: SentStart; delivery: Delivery },
): Promise<StartTaskRecord> {
  const post = async (): Promise<StartTaskRecord> => {
    const answer = await links.app.request({
      method: 'POST',
      path: CONVERSATIONS.path,
      body,
      safe: 'once',
      timeoutMs: LIMITS_MS.start,
      accept: [400, 422, 501],
      delivery,
    });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return read(answer, readStartTask);
  };
  const { id } = sent;
  const data = { conversation_id: id };
  const isOwnId = facts.echoes_ids || facts.features['caller-conversation-id'] === 'present';
  const lookFirst =
    id === null
      ? 'look for it: acs conv list\nstop it: acs conv stop <id>'
      : `look: acs conv show ` +
        `${id}${isOwnId ? '' : '; if the server chose another id: ' + 'acs conv list'}\nstop ` +
        `it: acs conv stop ${id}`;
  const maybeTaken = { as: id === null ? '' : `, as conversation ${id}`, hint: lookFirst, data };
  try {
    return await post();
  } catch (error) {
    if (links.signal.aborted) throw abortedStart(links, error, delivery, maybeTaken);
    if (!isAppError(error)) throw error;
    const { kind, details } = error;
    const { status = 0 } = details;
    const isUnreadable = kind === 'server' && status >= 200 && status < 300;
    if (kind !== 'unknown-outcome' && !isUnreadable) {
      if (status >= 400 && status < 500) delivery.isPossible = false;
      throw error;
    }
    // Whatever fails from here on, the server may have taken the start.
    let because = error;
    let message =
      `${isUnreadable ? error.message : 'no answer came to the start'}; the ` +
      `server shows neither its conversation nor its start task`;
    try {
      const found = await findLostStart(links, sent, error);
      if (found !== null) return found;
      // A server that honours ids answers a second POST with the same id with the same conversation
      // (interface 4.1).
      if (request.sandbox_id !== null && facts.echoes_ids && !isUnreadable) return await post();
    } catch (other) {
      if (links.signal.aborted) throw abortedStart(links, other, { isPossible: true }, maybeTaken);
      if (!isAppError(other)) throw other;
      because = other;
      message =
        other === error
          ? error.message
          : `no answer came to the start, and its repetition failed: ${other.message}`;
    }
    throw new AppError(isUnreadable ? 'server' : 'unknown-outcome', message, {
      ...because.details,
      retryable: false,
      hint:
        `it may still appear${id === null ? '' : ` as ${id}`}: look with acs conv list ` +
        `before starting it again`,
      data,
    });
  }
}

/**
 * Returns when status or detail have changed; as ready where the task makes no progress and its
 * conversation is there.
 */
async function nextTask(
  links: Links,
  { id, status, detail }: StartTaskRecord,
  conversationId: string | null,
  limit: AbortSignal,
): Promise<StartTaskRecord> {
  const { clock } = links;
  let lookUpAtMs = clock.now() + NO_PROGRESS_MS;
  const changed = async (): Promise<StartTaskRecord | undefined> => {
    const task = await find(links, START_TASKS, id);
    const start_task_id = normalId(id);
    if (task === null)
      throw new AppError('server', `the server no longer has the start task ${start_task_id}`, {
        data: { start_task_id },
      });
    if (
      task.status !== status ||
      task.detail !== detail ||
      (status === 'READY' && task.app_conversation_id !== null)
    )
      return task;
    if (clock.now() < lookUpAtMs) return undefined;
    lookUpAtMs = clock.now() + NO_PROGRESS_MS;
    const record = await startedConversation(links, task.app_conversation_id ?? conversationId);
    return record === null
      ? undefined
      : { ...task, status: 'READY', app_conversation_id: record.id };
  };
  const every = links.app.loopback ? { ...STEADY, firstMs: QUICK.firstMs } : STEADY;
  return await poll(changed, {
    clock,
    signal: AbortSignal.any([limit, links.signal]),
    every,
    readBefore: true,
  });
}

function progress(task: StartTaskRecord, conversationId: string | null): StartProgress {
  const { status, detail } = task;
  const word = status.toLowerCase().replaceAll('_', ' ');
  const id = task.app_conversation_id ?? conversationId;
  return {
    start_task_id: normalId(task.id),
    step: status === 'READY' || detail === null ? word : `${word}: ${detail}`,
    conversation_id: id === null ? null : normalId(id),
    sandbox_id: task.sandbox_id,
  };
}
