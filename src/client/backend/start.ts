/** A start is one request, which returns the whole record (interface 14.2). */
import { AppError, isAppError } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { dashedId, normalId } from '../../domain/ids.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import {
  readAgentConversation,
  type AgentConversationRecord,
} from '../../protocol/agent-server/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import { messageContent } from '../agent-server/message.ts';
import type { Delivery } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { read, type Links } from '../shared/links.ts';
import type { StartOptions, StartProgress } from '../shared/server.ts';
import { abortedStart, refusedStart } from '../shared/start-errors.ts';
import { find } from './calls.ts';
import { TAGS, toConversation } from './records.ts';
import { createBackendSecrets } from './secrets.ts';
import { startSettings } from './start-settings.ts';
import {
  prepareWorkspace,
  removeWorkspace,
  withChanges,
  type PreparedWorkspace,
} from './workspace.ts';

export async function* startBackend(
  links: Links,
  request: NewConversation,
  { beforeSend }: StartOptions,
): AsyncGenerator<StartProgress, Conversation, void> {
  for (const secret of Object.values(request.secrets)) links.network.redaction.add(secret);
  const { workspace = { kind: 'fresh' } } = request;
  const id = normalId(request.conversation_id ?? links.randomId());
  const [settings, stored] = await Promise.all([
    startSettings(links, request),
    storedSecrets(links),
  ]);
  const progress = { start_task_id: '', sandbox_id: null };
  yield { ...progress, step: 'preparing the workspace', conversation_id: null };
  const prepared = await prepareWorkspace(links, id, workspace, request);
  const delivery: Delivery = { isPossible: false };
  let record: AgentConversationRecord;
  try {
    const place = await withChanges(links, prepared, request.changes);
    const started = startBody(request, id, { ...place, stored });
    // The tags of `--body` are among those of the start.
    const { tags: _, ...ownMembers } = request.body;
    const body = { ...started, ...settings, ...ownMembers };
    beforeSend?.({ id, dialect: 'agent', sent_at: new Date(links.clock.now()).toISOString() });
    record = await sendStart(links, request, { id, body, delivery });
  } catch (error) {
    if (!delivery.isPossible) await removeWorkspace(links, id, workspace);
    throw error;
  }
  links.starts.backend = record;
  yield { ...progress, step: 'ready', conversation_id: id };
  return toConversation(links, record);
}

function startBody(
  request: NewConversation,
  id: string,
  {
    working_dir,
    base,
    branch,
    checkout,
    stored,
  }: PreparedWorkspace & { stored: Record<string, unknown> },
): Record<string, unknown> {
  const content = messageContent(request);
  const own = Object.entries(request.secrets).map(
    ([name, value]) => [name, { kind: 'StaticSecret', value }] as const,
  );
  const secrets = { ...stored, ...Object.fromEntries(own) };
  const ofUser = isRecord(request.body['tags']) ? request.body['tags'] : {};
  const tags = Object.entries({ repository: request.repository, branch, base, checkout }).filter(
    ([, value]) => value !== null && value.length <= MOST_TAG,
  );
  return {
    conversation_id: dashedId(id),
    workspace: { kind: 'LocalWorkspace', working_dir },
    tags: {
      ...Object.fromEntries(tags.map(([name, value]) => [TAGS[name as keyof typeof TAGS], value])),
      ...ofUser,
    },
    ...(content.length > 0 && { initial_message: { role: 'user', content, run: true } }),
    ...(request.title !== undefined && { autotitle: false }),
    ...(Object.keys(secrets).length > 0 && { secrets }),
  };
}

/** The agent reads the value of a stored secret from its server when it uses it, by this key. */
async function storedSecrets(links: Links): Promise<Record<string, unknown>> {
  const { items } = await createBackendSecrets(links).list(null);
  const headers = links.appKey !== null && { headers: { 'X-Session-API-Key': links.appKey } };
  return Object.fromEntries(
    items.map(({ name, description }) => [
      name,
      {
        kind: 'LookupSecret',
        url: `/api/settings/secrets/${encodeURIComponent(name)}`,
        description,
        ...headers,
      },
    ]),
  );
}

/** Characters; the server refuses a longer value. */
const MOST_TAG = 256;

/** The same id again returns the conversation that exists: a lost answer is repeated once. */
async function sendStart(
  links: Links,
  request: NewConversation,
  { id, body, delivery }: { id: string; body: Record<string, unknown>; delivery: Delivery },
): Promise<AgentConversationRecord> {
  const hint = `see: acs conv show ${id}\nstop it: acs conv stop ${id}`;
  const data = { conversation_id: id };
  const post = async () => {
    const call = { method: 'POST', path: '/api/conversations', body, delivery } as const;
    const limits = { timeoutMs: LIMITS_MS.start, accept: [400, 404, 422] };
    const answer = await links.app.request({ ...call, ...limits });
    if (answer.status >= 400) throw refusedStart(answer, request);
    return read(answer, readAgentConversation);
  };
  const orRefused = async (before: 'unsent' | 'sent') => {
    try {
      return await post();
    } catch (error) {
      if (links.signal.aborted)
        throw abortedStart(links, error, delivery, { as: `, as conversation ${id}`, hint, data });
      if (isAppError(error) && isRefusal(error, before)) delivery.isPossible = false;
      throw error;
    }
  };
  let lost: AppError;
  try {
    return await orRefused('unsent');
  } catch (error) {
    const isLost = isAppError(error) && ['unknown-outcome', 'server'].includes(error.kind);
    if (links.signal.aborted || !isLost) throw error;
    lost = error;
  }
  try {
    const record = await find(links, id);
    if (record !== null && !isWithoutMessage(record, body, lost)) return record;
    if (record === null && lost.kind === 'unknown-outcome') return await orRefused('sent');
    if (record === null) delivery.isPossible = false;
    else lost = startedWithoutMessage(lost, id);
  } catch (error) {
    if (!delivery.isPossible || links.signal.aborted || !isAppError(error)) throw error;
    const text = `no answer came to the start, and its repetition failed: ${error.message}`;
    const details = { ...error.details, retryable: false, hint, data };
    throw new AppError('unknown-outcome', text, details);
  }
  throw lost;
}

/** The answer says that the start is not taken, or no request has arrived. */
function isRefusal({ kind, details }: AppError, before: 'unsent' | 'sent'): boolean {
  const { status = 0 } = details;
  return (kind === 'network' && before === 'unsent') || (status >= 400 && status < 500);
}

/** The server failed after the record was stored, and before the message: nothing will run. */
function isWithoutMessage(
  { payload }: AgentConversationRecord,
  body: Record<string, unknown>,
  { details: { status } }: AppError,
): boolean {
  return status === 500 && 'initial_message' in body && payload['last_user_message_id'] === null;
}

function startedWithoutMessage({ kind, message, details }: AppError, id: string): AppError {
  const text = `${message}; conversation ${id} exists, without the message`;
  return new AppError(kind, text, {
    ...details,
    hint:
      'its log has the cause, such as an MCP server that does not start\n' +
      `delete it: acs conv delete ${id} --with-worktree`,
    data: { conversation_id: id },
  });
}
