/** The body of a V1 start, and what V1 cannot do. */
import { AppError } from '../../errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { StartTaskRecord } from '../../protocol/v1/records.ts';
import { dashedId, normalId } from '../ids.ts';
import type { ProbeFacts } from '../probe.ts';

/** The agent server's words for --confirm. */
export const POLICIES = { never: 'NeverConfirm', risky: 'ConfirmRisky', always: 'AlwaysConfirm' } as const;

/** Facts that were kept before this was looked for do not tell. */
export function startsWithPolicy({ v1_confirmation }: ProbeFacts): boolean {
  return v1_confirmation ?? false;
}

/** Throws `unsupported` before anything is sent; says which server does it. */
export function refuseWhatIsMissing(request: NewConversation, facts: ProbeFacts): void {
  const missing: string[] = [];
  if (request.replay !== null && !facts.v1_replay) missing.push('--replay (the local service and V0 servers replay)');
  if (request.microagent !== null) missing.push('--microagent (V0 servers have it)');
  if (request.mcp_config !== null)
    missing.push('--mcp-config for one conversation (V0 servers have it; for all: acs settings set mcp_config=@file)');
  if (request.replay !== null && request.confirm !== null && !startsWithPolicy(facts)) {
    // The replay begins with the start, before a policy could be set: its first steps would not be asked for.
    missing.push('--confirm together with --replay (for all conversations: acs settings set confirmation_mode=true)');
  }
  const unknown = Object.keys(request.members).filter((name) => facts.v1_start_members?.includes(name) === false);
  if (unknown.length > 0) missing.push(`--members with ${unknown.join(', ')} (newer servers have it)`);
  if (missing.length > 0)
    throw new AppError('unsupported', `this server cannot do ${missing.join(', ')} when it starts a V1 conversation`);
  if (request.suggested_task !== null && (request.message ?? '') !== '') {
    throw new AppError('usage', 'a suggested task brings its own message: leave the message out');
  }
}

/** Content blocks of the first message; unknown members inside a text block are refused by servers (interface 4.1). */
export function messageContent(request: Pick<NewConversation, 'message' | 'image_urls'>): Record<string, unknown>[] {
  const content: Record<string, unknown>[] = [];
  if (request.message !== null && request.message !== '') content.push({ type: 'text', text: request.message });
  if (request.image_urls.length > 0) content.push({ type: 'image', image_urls: request.image_urls });
  return content;
}

/** Only what was asked for is sent. The title is missing on purpose: servers ignore it here. */
export function startBody(
  request: NewConversation,
  conversationId: string,
  sandboxId: string | null,
  facts: ProbeFacts,
): Record<string, unknown> {
  const content = messageContent(request);
  const policy = request.confirm === null ? null : { kind: POLICIES[request.confirm] };
  const task = request.suggested_task;
  // A message without content begins a replay with its own words; without any message it would wait for one.
  const isSaid = content.length > 0 || request.replay !== null;
  const members: Record<string, unknown> = {
    conversation_id: dashedId(conversationId),
    // A policy has to stand before the agent sees the message: where the start takes none, the message follows it.
    initial_message:
      isSaid && (policy === null || startsWithPolicy(facts)) ? { role: 'user', content, run: true } : null,
    sandbox_id: sandboxId,
    // Only where the start takes it; elsewhere a sandbox of the spec is created first, and named here.
    sandbox_spec_id: sandboxId === null ? request.spec_id : null,
    system_message_suffix: request.instructions,
    llm_model: request.model,
    selected_repository: request.repository,
    selected_branch: request.branch,
    git_provider: request.git_provider,
    suggested_task: task === null ? null : { ...task },
    secrets: Object.keys(request.secrets).length > 0 ? request.secrets : null,
    replay_json: request.replay,
    confirmation_policy: startsWithPolicy(facts) ? policy : null,
    ...request.members,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Whether the server honours a caller's id: it tells the request back. */
export function isEcho(task: StartTaskRecord, conversationId: string): boolean {
  const echoed = task.request['conversation_id'];
  return typeof echoed === 'string' && normalId(echoed) === normalId(conversationId);
}
