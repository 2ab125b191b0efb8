import { poll, QUICK, STEADY } from '../../runs/poll.ts';
import { AppError, isFailure, isNotFound, nullIf, isOfKind } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { asRecord, requiredText, withoutNull } from '../../protocol/shape.ts';
import { normalId } from '../../domain/ids.ts';
import { read, type Links } from '../shared/links.ts';
import type { SentStart, StartOptions, StartProgress } from '../shared/server.ts';
import { abortedStart, ignoredId, refusedStart } from '../shared/start-errors.ts';
import { checkRepositoryArrivedV0 } from './quirks/missing-branch-v0.ts';
import { createBeforeStartCheck, isStopped } from './quirks/stopped-before-start-v0.ts';
import { getConversationV0, listConversationsV0 } from './calls.ts';
import { NewsReader } from './events.ts';
import { toConversationV0 } from './records.ts';

export async function* startV0(
  links: Links,
  request: NewConversation,
  options: StartOptions,
): AsyncGenerator<StartProgress, Conversation, void> {
  refuseWhatV0Lacks(request);
  const id = await sendStart(links, request, options);
  yield { start_task_id: '', step: 'starting', conversation_id: id, sandbox_id: null };
  const asked = request.conversation_id;
  if (asked !== null && normalId(asked) !== id) throw ignoredId(asked, id);
  const reader = new NewsReader(links);
  const isBeforeStart = createBeforeStartCheck();
  const started = async () => {
    const info = await getConversationV0(links, id);
    const news = await reader.read(info);
    const conversation = toConversationV0(links, info, news);
    if (options.until === 'accepted') return conversation;
    if (isBeforeStart(info, reader.next) || conversation.status === 'starting') return undefined;
    if (isStopped(info) || conversation.status === 'failed' || request.repository === null)
      return conversation;
    // The agent has a state once the repository is cloned.
    if (news.agentState === null) return undefined;
    await checkRepositoryArrivedV0(links, info, request.repository, request.branch);
    return conversation;
  };
  const signal = AbortSignal.any([options.signal, links.signal]);
  const every = links.app.loopback ? QUICK : STEADY;
  return await poll(started, { clock: links.clock, signal, every });
}

function refuseWhatV0Lacks(request: NewConversation): void {
  if (request.mcp_config?.mcpServers)
    throw new AppError(
      'unsupported',
      'a V0 conversation cannot be started with mcpServers of --mcp-config',
      { hint: 'V0 servers have sse_servers, shttp_servers, stdio_servers' },
    );
  const missing = Object.keys(request.body)
    .filter((name) => !['suggested_task', 'create_microagent'].includes(name))
    .map((name) => `--body with ${name}`);
  const lacking: Record<string, boolean> = {
    '--model (set it for all with: acs settings set llm_model=…)': request.model !== null,
    '--spec': request.spec_id !== null,
    '--sandbox': request.sandbox_id !== null,
    '--secret': Object.keys(request.secrets).length > 0,
    '--with-changes': request.changes != null,
    '--no-dependencies': request.dependencies === false,
    '--confirm (set it for all with: acs settings set confirmation_mode=true)':
      request.confirm !== null,
  };
  missing.push(...Object.keys(lacking).filter((flag) => lacking[flag]));
  if (missing.length > 0)
    throw new AppError(
      'unsupported',
      `a V0 conversation cannot be started with ${missing.join(', ')}; V1 servers can`,
    );
}

async function sendStart(
  links: Links,
  request: NewConversation,
  { beforeSend }: Pick<StartOptions, 'beforeSend'>,
): Promise<string> {
  const sentAt = new Date(links.clock.now()).toISOString();
  const delivery = { isPossible: false };
  const asked = request.conversation_id === null ? null : normalId(request.conversation_id);
  beforeSend?.({ id: asked, dialect: 'v0', sent_at: sentAt });
  const members: Record<string, unknown> = {
    repository: request.repository,
    git_provider: request.git_provider,
    selected_branch: request.branch,
    initial_user_msg: request.message,
    image_urls: request.image_urls.length > 0 ? request.image_urls : null,
    replay_json: request.replay,
    conversation_instructions: request.instructions,
    mcp_config: request.mcp_config,
    // Only servers that allow it have this member; it is sent because a flag names it.
    conversation_id: request.conversation_id,
  };
  const steps =
    asked === null
      ? `look for it: acs conv list\nstop it: acs conv stop <id>`
      : `see: acs conv show ${asked}\nstop it: acs conv stop ${asked}`;
  const hint = `it was sent at ${sentAt}\n${steps}`;
  const post = async () => {
    const answer = await links.app.request({
      method: 'POST',
      path: '/api/conversations',
      // Unknown members are refused with 422, so only requested ones are sent.
      body: { ...withoutNull(members), ...request.body },
      accept: [400, 422, 501],
      delivery,
    });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return normalId(
      read(answer, (body) => requiredText(asRecord(body, 'start'), 'conversation_id', 'start')),
    );
  };
  try {
    return await post().catch(async (error: unknown) => {
      if (links.signal.aborted || !isOfKind('unknown-outcome')(error)) throw error;
      return await lostStart(links, asked, sentAt, error);
    });
  } catch (error) {
    throw abortedStart(links, error, delivery, { hint, data: { conversation_id: asked } });
  }
}

/** The id that was requested, if the server has it. Else nothing shows which one is the new one. */
async function lostStart(
  links: Links,
  asked: string | null,
  sentAt: string,
  lost: AppError,
): Promise<string> {
  const listed = await listConversationsV0(links, 5, null).catch(nullIf(isFailure));
  if (listed === null) throw lost;
  const ids = listed.items.map((info) => normalId(info.conversation_id));
  if (asked !== null && ids.includes(asked)) return asked;
  const newest = listed.items.map(
    ({ created_at }, index) => `${ids[index]} (${created_at ?? 'no time'})`,
  );
  const message = 'no answer came to the start, and V0 does not show what it has created';
  throw new AppError('unknown-outcome', message, {
    ...lost.details,
    hint: `it was sent at ${sentAt}; the newest conversations are: ${newest.join(', ') || 'none'}`,
  });
}

export async function findStartV0(
  { id, sent_at }: SentStart,
  get: (id: string) => Promise<Conversation>,
): Promise<Conversation> {
  const unknown = new AppError(
    'unknown-outcome',
    'V0 does not show whether it has taken the start',
    {
      hint: `it was sent at ${sent_at}; look for it: acs conv list`,
    },
  );
  if (id === null) throw unknown;
  return await get(id).catch((error: unknown) => {
    throw isNotFound(error) ? unknown : error;
  });
}
