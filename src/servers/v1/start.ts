/** Starting a V1 conversation: sent once, followed to READY, looked for when its answer is lost (interface 4.1, 4.2). */
import { AppError, isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { readStartTask, type StartTaskRecord } from '../../protocol/v1/records.ts';
import { abortedStart, type MaybeTaken } from '../aborted-start.ts';
import { normalId } from '../ids.ts';
import { freshId } from '../quirks/all-digit-id.ts';
import { read, type Links, type WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { refusalText } from '../refused-start.ts';
import type { StartOptions, StartProgress } from '../server.ts';
import { DryRunStop, plannedRequests } from '../transport/dry-run.ts';
import { NO_REASON, type Answer } from '../transport/answer.ts';
import { runningAgentOf } from './agent.ts';
import { checkRepositoryArrived } from '../quirks/missing-branch-v1.ts';
import { refuseUnknownSpec } from '../quirks/unknown-spec.ts';
import { getConversation } from './calls.ts';
import { findLostStart } from './lost-start.ts';
import { taskConversation, toConversation } from './records.ts';
import { createSandbox } from './sandboxes.ts';
import {
  refuseIgnoredMembers,
  refuseOtherId,
  refuseOtherModel,
  refuseUnechoedId,
} from '../quirks/ignored-start-members.ts';
import { isEcho, messageContent, POLICIES, refuseWhatIsMissing, startBody, startsWithPolicy } from './start-body.ts';
import { startInNewSandbox, startsWithSpec } from './start-sandbox.ts';
import { progress, untilReady } from './start-wait.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';

export async function* startV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  request: NewConversation,
  options: StartOptions,
): AsyncGenerator<StartProgress, Conversation, void> {
  refuseWhatIsMissing(request, facts);
  for (const secret of Object.values(request.secrets)) links.network.redaction.add(secret);
  const conversationId = request.conversation_id ?? freshId(links.randomId);
  const spec = request.sandbox_id === null ? request.spec_id : null;
  if (spec === null || startsWithSpec(facts)) {
    if (spec !== null) await refuseUnknownSpec(links, spec);
    return yield* startIn(links, facts, webUrl, request, { ...options, conversationId, sandboxId: request.sandbox_id });
  }
  if (links.mode === 'dry-run') await planStart(links, facts, request, conversationId);
  return yield* startInNewSandbox(links, spec, options.signal, (sandboxId) =>
    startIn(links, facts, webUrl, request, { ...options, conversationId, sandboxId }),
  );
}

type PlacedStart = StartOptions & { conversationId: string; sandboxId: string | null };

/** Sends the start and follows it to READY. */
async function* startIn(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  request: NewConversation,
  { conversationId, sandboxId, ...options }: PlacedStart,
): AsyncGenerator<StartProgress, Conversation, void> {
  const body = startBody(request, conversationId, sandboxId, facts);
  const first = await sendStart(links, facts, { body, conversationId, request, ...options });
  const echoed = isEcho(first, conversationId) ? conversationId : null;
  yield progress(first, echoed);
  if (options.until === 'accepted') {
    if (echoed === null) refuseUnechoedId(request, first);
    refuseIgnoredMembers(links, facts, request, first, echoed);
    return { ...taskConversation(first), url: echoed === null ? null : webUrl(echoed) };
  }
  const task = yield* untilReady(links, first, echoed, options.signal);
  // The local service names there that commands run without isolation; other servers have null.
  if (task.detail !== null) links.notice(`warning: ${task.detail}`);
  const id = normalId(task.app_conversation_id ?? '');
  if (id === normalId(conversationId)) await links.features.learnEcho();
  else if (echoed !== null) await links.features.learn('caller-conversation-id', 'absent');
  refuseOtherId(request, id);
  refuseIgnoredMembers(links, facts, request, first, id);
  const record = await getConversation(links, id);
  refuseOtherModel(links, record, request);
  await checkRepositoryArrived(links, record, request);
  if (request.confirm !== null && !startsWithPolicy(facts)) await confirmThenSend(links, record.id, request);
  return { ...toConversation(record, webUrl), start_task_id: normalId(first.id) };
}

/** What a dry run shows where the sandbox is created first: that, and the start. */
async function planStart(
  links: Links,
  facts: ProbeFacts,
  request: NewConversation,
  conversationId: string,
): Promise<void> {
  const sandbox = await plannedRequests(() => createSandbox(links, request.spec_id));
  const body = startBody(request, conversationId, '(the new sandbox)', facts);
  const start = await plannedRequests(() => sendStart(links, facts, { body, conversationId, request }));
  throw new DryRunStop([...sandbox, ...start]);
}

interface OutgoingStart extends Pick<StartOptions, 'beforeSend'> {
  body: Record<string, unknown>;
  conversationId: string;
  request: NewConversation;
}

async function sendStart(
  links: Links,
  facts: ProbeFacts,
  { body, conversationId, request, beforeSend }: OutgoingStart,
): Promise<StartTaskRecord> {
  const sentAtMs = links.clock.now();
  const delivery = { isPossible: false };
  const sent_at = new Date(sentAtMs).toISOString();
  await beforeSend?.({ id: normalId(conversationId), dialect: 'v1', sent_at });
  const post = async (): Promise<StartTaskRecord> => {
    const answer = await links.app.request({
      method: 'POST',
      path: '/api/v1/app-conversations',
      body,
      safe: 'once',
      timeoutMs: LIMITS_MS.start,
      accept: [400, 422],
      delivery,
    });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return read(answer, (value) => readStartTask(value));
  };
  const maybe = maybeTaken(facts, conversationId);
  try {
    return await post();
  } catch (error) {
    if (links.signal.aborted) throw abortedStart(links, error, delivery, maybe);
    if (!isAppError(error) || !mayBeTaken(error)) throw error;
    // Whatever fails from here on, the server may have taken the start.
    try {
      const found = await findLostStart(links, conversationId, sentAtMs, error);
      if (found !== null) return found;
      // With the same id and the same sandbox a second POST ends at the same conversation (interface 4.1). A server
      // that ignores the id would start a second one, so the server must have honoured an id before.
      if (request.sandbox_id !== null && facts.echoes_ids && !isAnswered(error)) return await post();
    } catch (other) {
      if (links.signal.aborted) throw abortedStart(links, other, { isPossible: true }, maybe);
      if (!isAppError(other)) throw other;
      const repeated = `no answer came to the start, and its repetition failed: ${other.message}`;
      throw unknownStart(other, other === error ? error.message : repeated, facts, conversationId);
    }
    const what = isAnswered(error) ? error.message : 'no answer came to the start';
    const message = `${what}; neither its conversation nor its start task can be seen`;
    throw unknownStart(error, message, facts, conversationId);
  }
}

/** No answer came, or one that shows that the request was carried out but cannot be read. */
function mayBeTaken(error: AppError): boolean {
  return error.kind === 'unknown-outcome' || isAnswered(error);
}

function isAnswered({ kind, details: { status = 0 } }: AppError): boolean {
  return kind === 'server' && status >= 200 && status < 300;
}

function unknownStart(error: AppError, message: string, facts: ProbeFacts, conversationId: string): AppError {
  const id = normalId(conversationId);
  return new AppError(isAnswered(error) ? 'server' : 'unknown-outcome', message, {
    ...error.details,
    retryable: false,
    hint: `it may still appear${mayHonour(facts) ? ` as ${id}` : ''}: look with acs conv list before starting it again`,
    data: { conversation_id: id },
  });
}

function mayHonour(facts: ProbeFacts): boolean {
  return facts.features['caller-conversation-id'] !== 'absent';
}

function maybeTaken(facts: ProbeFacts, conversationId: string): MaybeTaken {
  const id = normalId(conversationId);
  return {
    as: `, as conversation ${id}`,
    hint: mayHonour(facts)
      ? `look: acs conv show ${id}   stop it: acs conv stop ${id}`
      : 'look whether it is there: acs conv list   stop it: acs conv stop <id>',
    data: { conversation_id: id },
  };
}

/** 400 and 422 are about the user's own values here; a model that is missing or of no use there is not. */
function refusedStart({ body, status, request }: Answer, wanted: NewConversation): AppError {
  const text = refusalText(body, wanted) ?? NO_REASON;
  if (/CONFIGURATION\$SETTINGS_NOT_FOUND|settings not found|llm_model|no model/i.test(JSON.stringify(body ?? ''))) {
    return new AppError('config', text, {
      status,
      request,
      hint: 'replay a recorded run with --replay, or set a model where agents run: acs settings set llm_model=… llm_api_key=-',
    });
  }
  if (/CONFIGURATION\$MODEL_NOT_SUPPORTED/.test(JSON.stringify(body ?? '')))
    return new AppError('unsupported', text, { status, request });
  return new AppError('usage', `the server refuses this start: ${text}`, { status, request });
}

/** The policy has to stand before the agent sees the message, so the conversation was started without it. */
async function confirmThenSend(links: Links, id: string, request: NewConversation): Promise<void> {
  const agent = runningAgentOf(links, await getConversation(links, id));
  await agent.setConfirmationPolicy(POLICIES[request.confirm ?? 'never']);
  const content = messageContent(request);
  if (content.length > 0) await agent.send(content, 'run');
}
