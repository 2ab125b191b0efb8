/** Starting a V0 conversation (interface 3.1): sent once; the agent loop starts with it. */
import { poll, STEADY } from '../../runs/poll.ts';
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { asRecord, isRecord, requiredText } from '../../protocol/shape.ts';
import { abortedStart, type MaybeTaken } from '../aborted-start.ts';
import { normalId } from '../ids.ts';
import { read, type Links, type WebUrl } from '../links.ts';
import { refusalText } from '../refused-start.ts';
import type { SentStart, StartOptions, StartProgress } from '../server.ts';
import { ignoredId } from '../start-differs.ts';
import type { Answer } from '../transport/answer.ts';
import { createLoadingNotice } from '../quirks/endless-loading-v0.ts';
import { checkBranchArrivedV0 } from '../quirks/missing-branch-v0.ts';
import { createBeforeStartCheck, isStopped } from '../quirks/stopped-before-start-v0.ts';
import { getConversationV0, listConversationsV0, V0_TIMEOUT_MS } from './calls.ts';
import { createNewsReader } from './news.ts';
import { toConversationV0 } from './records.ts';

export async function* startV0(
  links: Links,
  webUrl: WebUrl,
  request: NewConversation,
  options: StartOptions,
): AsyncGenerator<StartProgress, Conversation, void> {
  refuseWhatV0Lacks(request);
  const id = await sendStart(links, request, options);
  yield { start_task_id: '', step: 'starting', conversation_id: id, sandbox_id: null };
  const asked = request.conversation_id;
  if (asked !== null && normalId(asked) !== id) throw ignoredId(asked, id);
  const reader = createNewsReader(links);
  const isBeforeStart = createBeforeStartCheck();
  const noticeLoading = createLoadingNotice(links, request, id);
  const started = async (): Promise<Conversation | undefined> => {
    const info = await getConversationV0(links, id);
    const conversation = toConversationV0(info, await reader.read(info), webUrl);
    if (options.until === 'accepted') return conversation;
    if (isBeforeStart(info, reader.next ?? 0) || conversation.status === 'starting') {
      noticeLoading();
      return undefined;
    }
    if (!isStopped(info)) await checkBranchArrivedV0(links, info, request);
    return conversation;
  };
  const signal = AbortSignal.any([options.signal, links.signal]);
  return await poll(started, { clock: links.clock, signal, every: STEADY });
}

function refuseWhatV0Lacks(request: NewConversation): void {
  const missing: string[] = [];
  if (request.model !== null) missing.push('--model (set it for all with: acs settings set llm_model=…)');
  if (request.spec_id !== null) missing.push('--spec');
  if (request.sandbox_id !== null) missing.push('--sandbox');
  if (Object.keys(request.secrets).length > 0) missing.push('--secret');
  if (Object.keys(request.members).length > 0) missing.push('--members');
  if (request.confirm !== null)
    missing.push('--confirm (set it for all with: acs settings set confirmation_mode=true)');
  if (missing.length > 0)
    throw new AppError('unsupported', `a V0 conversation cannot be started with ${missing.join(', ')}; V1 servers can`);
}

/** Unknown members are refused with 422, so only requested ones are sent. */
function startBodyV0(request: NewConversation): Record<string, unknown> {
  const members: Record<string, unknown> = {
    repository: request.repository,
    git_provider: request.git_provider,
    selected_branch: request.branch,
    initial_user_msg: request.message,
    image_urls: request.image_urls.length > 0 ? request.image_urls : null,
    replay_json: request.replay,
    suggested_task: request.suggested_task,
    create_microagent: request.microagent,
    conversation_instructions: request.instructions,
    mcp_config: request.mcp_config,
    // Only servers that allow it have this member; it is sent because a flag names it.
    conversation_id: request.conversation_id,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

async function sendStart(
  links: Links,
  request: NewConversation,
  { beforeSend }: Pick<StartOptions, 'beforeSend'>,
): Promise<string> {
  const sentAtMs = links.clock.now();
  const delivery = { isPossible: false };
  const asked = request.conversation_id;
  const sent_at = new Date(sentAtMs).toISOString();
  await beforeSend?.({ id: asked === null ? null : normalId(asked), dialect: 'v0', sent_at });
  try {
    const answer = await links.app.request({
      method: 'POST',
      path: '/api/conversations',
      body: startBodyV0(request),
      safe: 'once',
      timeoutMs: V0_TIMEOUT_MS,
      accept: [400, 422],
      delivery,
    });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return normalId(read(answer, (body) => requiredText(asRecord(body, 'start'), 'conversation_id', 'start')));
  } catch (error) {
    if (links.signal.aborted) throw abortedStart(links, error, delivery, maybeTaken(request, sentAtMs));
    if (!isAppError(error) || error.kind !== 'unknown-outcome') throw error;
    return await findLostStart(links, request, sentAtMs, error).catch((other: unknown) => {
      throw links.signal.aborted ? abortedStart(links, other, delivery, maybeTaken(request, sentAtMs)) : other;
    });
  }
}

function maybeTaken(request: NewConversation, sentAtMs: number): MaybeTaken {
  const id = request.conversation_id === null ? null : normalId(request.conversation_id);
  const sent = `it went out at ${new Date(sentAtMs).toISOString()}`;
  return {
    hint:
      id === null
        ? `${sent}; look for it: acs conv list   stop it: acs conv stop <id>`
        : `${sent}; look: acs conv show ${id}   stop it: acs conv stop ${id}`,
    data: id === null ? {} : { conversation_id: id },
  };
}

function refusedStart(answer: Answer, request: NewConversation): AppError {
  const { status, body } = answer;
  const details = { status, request: answer.request };
  const text = refusalText(body, request) ?? `status ${status}`;
  const id = isRecord(body) && typeof body['msg_id'] === 'string' ? body['msg_id'] : '';
  if (id.endsWith('SETTINGS_NOT_FOUND')) {
    return new AppError('config', `the server has no settings to start with: ${text}`, {
      ...details,
      hint: 'replay a recorded run with --replay, or set a model where agents run: acs settings set llm_model=… llm_api_key=-',
    });
  }
  if (id.endsWith('MODEL_NOT_SUPPORTED')) return new AppError('unsupported', text, details);
  if (id.endsWith('LLM_AUTHENTICATION'))
    return new AppError('config', `the key of the model is refused: ${text}`, {
      ...details,
      hint: 'acs settings set llm_api_key=-',
    });
  if (status === 422 && request.conversation_id !== null && /conversation_id/.test(text)) {
    return new AppError('unsupported', 'this server does not let a caller choose the id of a V0 conversation', {
      ...details,
    });
  }
  return new AppError('usage', `the server refuses this start: ${text}`, details);
}

/** Throws `unknown-outcome` for a start that is not there: it may have been taken under another id. */
export async function findStartV0(
  { id, sent_at }: SentStart,
  get: (id: string) => Promise<Conversation>,
): Promise<Conversation> {
  const unknown = new AppError('unknown-outcome', 'V0 cannot say whether it has taken the start, or what it created', {
    hint: `it went out at ${sent_at}; look for it: acs conv list`,
  });
  if (id === null) throw unknown;
  return await get(id).catch((error: unknown) => {
    throw isNotFound(error) ? unknown : error;
  });
}

/** Without an id that acs chose, the new conversations can be listed, but none is known to be that of this start. */
async function findLostStart(
  links: Links,
  request: NewConversation,
  sentAtMs: number,
  lost: AppError,
): Promise<string> {
  // If the server cannot be read, the outcome stays unknown.
  const items = await listConversationsV0(links, 5, null).then(
    (page) => page.items,
    (error: unknown) => {
      throw isAppError(error) && error.kind !== 'interrupted' ? lost : error;
    },
  );
  const asked = request.conversation_id;
  const ours = asked === null ? undefined : items.find((info) => normalId(info.conversation_id) === normalId(asked));
  if (ours !== undefined) return normalId(ours.conversation_id);
  const since = new Date(sentAtMs).toISOString();
  const newest = items.map((info) => `${normalId(info.conversation_id)} (${info.created_at ?? 'no time'})`);
  throw new AppError('unknown-outcome', 'the start was not answered, and V0 cannot say which conversation it created', {
    ...lost.details,
    hint: `it went out at ${since}; the newest conversations are: ${newest.join(', ') || 'none'}`,
  });
}
